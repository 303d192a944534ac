"""`GradientBoosting` (Kumar et al., DSN 2020): boosted trees, what teaches them, their curves."""
