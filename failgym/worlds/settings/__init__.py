"""What a scenario is composed of: records of settings, each valid by itself.

A file has the name of the step in `failgym.worlds` that goes by it: `source` and `prices` there
read `TraceSource` and `Prices` of here.
"""
