"""Google's cluster traces of 2019 (ClusterData2019, "version 3"), as exported from BigQuery."""

from failgym.traces.readers.google_2019.importer import import_google_2019
from failgym.traces.readers.google_2019.reader import read_google_2019

__all__ = ["import_google_2019", "read_google_2019"]
