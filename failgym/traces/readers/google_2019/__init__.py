"""Google's cluster traces of 2019, as exported: JSON lines, CSV or Parquet."""

from failgym.traces.readers.google_2019.importer import import_google_2019
from failgym.traces.readers.google_2019.reader import read_google_2019

__all__ = ["import_google_2019", "read_google_2019"]
