"""Public traces that failgym reads: where they are published, and getting them from there.

>>> from failgym.traces.published import PUBLISHED
>>> PUBLISHED["kth-sp2-1996"].form
'swf'
"""

from __future__ import annotations

from failgym.traces.published.catalogue import PUBLISHED
from failgym.traces.published.download import FetchError
from failgym.traces.published.fetch import Fetched, fetch
from failgym.traces.published.records import PublishedFile, PublishedTrace, Shards

__all__ = [
    "PUBLISHED",
    "FetchError",
    "Fetched",
    "PublishedFile",
    "PublishedTrace",
    "Shards",
    "fetch",
]
