"""Readers: a folder per public format, whose `reader.py` holds `read_<format>(path, ...) -> Trace`.

Beside the folders lies what several formats share: `sources` and `archives` find and unpack files,
`json_objects` and `json_fields` take JSON apart, `growing`, `graphs`, `job_log`, `outages` and
`exit_status` hold what is read until it is a trace, `counts` what became of the rows. A new reader
is listed in `failgym.traces.formats`.
"""
