"""Independent steps of a long work: in processes of this machine, or on a Ray cluster.

`each` calls a function on every item and returns the results in their order, whoever did them:

- `Workers()`: this process, one item after the other;
- `Workers(8)`: eight processes of this machine;
- `Workers(address="auto")`: a Ray cluster, which Ray is asked for only then.

The function's outcome may depend on its item alone, so results are the same everywhere. What is
done is kept by whoever calls, in a folder: `each` keeps nothing.
"""

from __future__ import annotations

from failgym.workers.engine import ALONE, GOES_ON, LOOK, MARK, Workers, each

__all__ = ["ALONE", "GOES_ON", "LOOK", "MARK", "Workers", "each"]
