"""Experiments: one file per published table or figure, and what the README says about speed.

Each is run by itself from the repository, ``python -m experiments.<name>``, prints what it found
and writes it as JSON when asked to. They are not part of the installed package.
"""
