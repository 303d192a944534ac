"""Stages, what they hand on, and what is lost with a machine."""
