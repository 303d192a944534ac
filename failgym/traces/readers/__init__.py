"""Readers of public trace formats, one format each: files in, a `Trace` out."""
