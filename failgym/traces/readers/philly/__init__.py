"""Microsoft's Philly traces (`cluster_job_log`)."""

from failgym.traces.readers.philly.reader import read_philly

__all__ = ["read_philly"]
