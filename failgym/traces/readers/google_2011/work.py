"""What an import of Google's trace of 2011 keeps, until it is done."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Mapping
from pathlib import Path

from failgym.traces.readers.google_2011.parts import Part
from failgym.traces.readers.google_2011.runs import Spill
from failgym.traces.readers.work_folder import WorkFolder

WORK = WorkFolder(
    "google-2011",
    version=2,
    names=re.compile(r"(checkpoint|(tasks|attempts|started|windows)-[0-9]{5,})\.(arrow|partial)"),
)


@contextlib.contextmanager
def working_folder(out: Path, parts: Mapping[str, list[Part]]) -> Generator[Spill]:
    """What a killed import of the same files left (`WorkFolder.of`). Raises TraceError."""
    files = {table: [part.file for part in listed] for table, listed in parts.items()}
    with WORK.of(out, files) as folder:
        yield Spill(folder)
