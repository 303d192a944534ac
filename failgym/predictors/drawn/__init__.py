"""Forecasts that learn nothing: none, the record itself, and drawn from it at a stated quality."""
