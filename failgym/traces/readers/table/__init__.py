"""A table of runs in columns of any names: CSV or Parquet."""

from failgym.traces.readers.table.reader import read_table

__all__ = ["read_table"]
