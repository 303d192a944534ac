"""What learned predictors know at a moment: one group of features per file.

`config` is known at submission, `flags` are the failures so far, `usage` is what monitoring has
shown by then, `system` the state of the whole cluster. All are float32 matrices, a row per thing
asked about, with the names of their columns.
"""
