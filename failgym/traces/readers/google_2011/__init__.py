"""Google's cluster trace of 2011 (ClusterData2011), any parts that hold `task_events`."""

from failgym.traces.readers.google_2011.reader import import_google_2011, read_google_2011

__all__ = ["import_google_2011", "read_google_2011"]
