"""Ensembles of boosted trees, or of small networks, as arrays: asked without the library that
learned them.
"""
