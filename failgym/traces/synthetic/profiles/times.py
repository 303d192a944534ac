"""Spans of time, in milliseconds, as traces count it."""

SECOND = 1_000
"""One second [ms]."""
MINUTE = 60 * SECOND
"""One minute [ms]."""
HOUR = 60 * MINUTE
"""One hour [ms]."""
DAY = 24 * HOUR
"""One day [ms]."""
