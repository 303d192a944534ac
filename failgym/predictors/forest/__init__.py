"""`RandomForest` (El-Sayed et al., ICDCS 2017): what they look at, the paper's sweeps."""
