"""Readers: one public format per file, each `read_<format>(path, ...) -> Trace`."""
