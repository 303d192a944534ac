"""pyarrow, which publishes no annotations: its modules, of any type."""

from __future__ import annotations

from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

__all__ = ["pa", "pacsv", "paipc", "pajson", "pc", "pq"]

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet
pacsv: Any = pyarrow.csv
pajson: Any = pyarrow.json
paipc: Any = pyarrow.ipc
