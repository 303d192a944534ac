"""The tables of the pages of results, a module for each page, from what experiments wrote."""
