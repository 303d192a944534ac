"""Ensembles of boosted trees as arrays: read from XGBoost, asked without it."""
