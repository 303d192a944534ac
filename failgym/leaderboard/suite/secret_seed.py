"""Secret seeds: a host commits to one, runs a suite with it, and publishes it afterwards.

With the public seeds anybody can look at the slices of a suite beforehand. With a secret one the
traces, the slices and all that is drawn follow from bytes that nobody else knows. The commitment,
their hash, is published first, so that the host cannot choose among seeds when results are there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["LEAST_BYTES", "commitment", "derived_seed", "read_secret"]

LEAST_BYTES = 16
"""Shorter ones could be guessed from the commitment."""
MOST_BYTES = 4096
_COMMITMENT = b"failgym secret seed, commitment\n"
_DERIVED = b"failgym secret seed, derived\n"
_SEED_BITS = 62
"""Bits of a derived seed, which fits into an int64."""


def read_secret(path: Path) -> bytes:
    """The secret in a file, without the white space around it. Raises ValueError."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"--secret-seed-file {path}: {error.strerror}") from error
    secret = content.strip()
    if not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise ValueError(
            f"--secret-seed-file {path}: expected {LEAST_BYTES} to {MOST_BYTES} bytes,"
            f" got {len(secret)}; `openssl rand -hex 32` makes a good one"
        )
    return secret


def commitment(secret: bytes) -> str:
    """What is published first: a hash that tells nothing of the secret, but fits no other."""
    return hashlib.sha256(_COMMITMENT + secret).hexdigest()


def derived_seed(secret: bytes | None, env: str, seed: int) -> int:
    """What stands for a seed of the suite: itself, or a number that follows from the secret."""
    if secret is None:
        return seed
    text = f"{env}\n{seed}\n".encode()
    digest = hashlib.sha256(_DERIVED + text + secret).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)
