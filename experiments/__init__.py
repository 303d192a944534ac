"""Experiments: one file per published table or figure, and what pages of results say.

Each is run by itself from the repository, ``python -m experiments.<name>``, prints what it found
and writes it as JSON when asked to. They are not part of the installed package.
"""
