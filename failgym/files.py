"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["PARTIAL", "replacing"]

PARTIAL = ".failgym-*.partial"
"""What the names look like of files that a killed process was writing."""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Write a file under another name, which then becomes the file.

    Yields:
        A name beside ``path`` that nothing has. What is there when the block ends takes the place
        of ``path``; if the block raises it is removed, and ``path`` stays as it was.

    Raises:
        OSError: if it cannot be renamed; and what the block raises, which then names ``path``
            where it named no file or the other name: a full disk does not say what was written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with replacing(path) as partial:
    ...     _ = partial.write_text("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    partial = path.with_name(PARTIAL.replace("*", secrets.token_hex(8)))
    try:
        yield partial
        with partial.open("rb") as written:  # or a power cut may leave the name without content
            os.fsync(written.fileno())
        partial.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(partial), partial):
            raise
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) from error
    finally:
        partial.unlink(missing_ok=True)
