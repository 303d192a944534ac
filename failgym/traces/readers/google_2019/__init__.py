"""Google's cluster traces of 2019 (ClusterData2019, "version 3"), as exported from BigQuery."""

from failgym.traces.readers.google_2019.reader import read_google_2019

__all__ = ["read_google_2019"]
