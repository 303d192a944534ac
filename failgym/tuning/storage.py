"""Where a search keeps its trials: a SQLite file of its own, or what several processes share."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failgym.files import replacing

if TYPE_CHECKING:
    from optuna import Study

__all__ = ["file_study", "folder_of", "shared_study"]

JOURNAL = "journal:"
"""What the URL of a journal begins with; a path follows."""
WAIT = 120.0
"""How long a process waits for another one that writes to a SQLite file [s]."""
GRACE = 30
"""After so long a lock of a journal that does not change is taken from its process, which was
killed while it wrote [s]."""
STUDY = "failgym"
"""Name of the study in a file; in a shared storage, what its name begins with."""
ATTEMPTS = 8
"""How often the tables of a database are made: a few commands that begin at once disturb each
other."""
PAUSE = 0.5
"""Mean time between two attempts [s]."""


def file_study(path: Path, identity: Mapping[str, Any]) -> Study:
    """The study that a file keeps, which is made if there is none.

    Args:
        path: the file.
        identity: what tells a search from others; kept in the file.

    Raises:
        ValueError: in one line, for a file that is no such, or keeps another search.
    """
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if not path.parent.is_dir():
        raise ValueError(f"{path}: no such folder: {path.parent}")
    try:
        _make_database(path)
        study = optuna.create_study(
            storage=_url(path), study_name=STUDY, direction="maximize", load_if_exists=True
        )
        study.get_trials()  # damage shows only where it is read
    except (SQLAlchemyError, sqlite3.Error, RuntimeError, ValueError, KeyError) as error:
        if _is_in_use(error):
            raise ValueError(f"{path}: cannot be used: {_cause(error)}") from error
        raise ValueError(f"{path}: not a file of trials") from error
    _check(study, str(path), identity)
    return study


IN_USE = ("locked", "full", "unable to open", "readonly", "read-only", "disk i/o")
"""What SQLite says where a file may be sound, but cannot be used now."""


def _is_in_use(error: Exception) -> bool:
    said = _cause(error).lower()
    return any(words in said for words in IN_USE)


def shared_study(url: str, identity: Mapping[str, Any]) -> Study:
    """The study at a URL, which is made if there is none.

    Args:
        url: ``journal:PATH``, a file of lines, which processes of many machines can share if they
            share the file system; or a URL of SQLAlchemy, such as ``sqlite:///PATH``, for processes
            of one machine, or ``postgresql+psycopg://USER@HOST/NAME``.
        identity: what tells a search from others; kept in the storage.

    Raises:
        ValueError: in one line, for a storage that cannot be used, or keeps another search.
    """
    import optuna

    from failgym.tuning.search import pruner

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name = _without_password(url)
    storage = _storage(url, name)
    key = f"{STUDY}-{_sha256(identity)}"
    _check_first(storage, name, key, identity)  # before anything is written
    study = optuna.create_study(
        storage=storage,
        study_name=key,
        direction="maximize",
        pruner=pruner(),
        load_if_exists=True,
    )
    _check_first(storage, name, key, identity)  # another search may have begun at the same time
    for of, value in identity.items():
        if of not in study.user_attrs:
            study.set_user_attr(of, value)  # for people, and for the line that says what differs
    return study


def _sha256(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _check_first(storage: Any, name: str, key: str, identity: Mapping[str, Any]) -> None:
    """Refuse a storage whose first search is another one.

    A search's name follows from all that tells it from others: two that begin at the same time
    have two studies, and never share trials.

    Raises:
        ValueError: if it is.
    """
    first = next(
        (s for s in sorted(storage.get_all_studies()) if s.study_name.startswith(STUDY)), None
    )
    if first is None or first.study_name == key:
        return
    known = first.user_attrs
    differ = (of for of, value in identity.items() if of in known and known[of] != value)
    said = [f": its {of} was {_differing(known[of], identity[of])}" for of in differ][:1]
    raise ValueError(f"--storage {name}: keeps the trials of another search{''.join(said)}")


def _storage(url: str, name: str) -> Any:
    """Optuna's storage at a URL, whose errors are lines. Raises ValueError."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    folder = folder_of(url)
    if folder is not None and not folder.is_dir():
        raise ValueError(f"--storage {name}: no such folder: {folder}")
    if url.startswith(JOURNAL):
        try:
            path = Path(url.removeprefix(JOURNAL))
            return _Named(optuna.storages.JournalStorage(_journal(path)), name)
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise ValueError(f"--storage {name}: not a journal of trials, or broken") from error
        except OSError as error:
            raise ValueError(_unusable(name, error)) from error
    if folder is None and url.startswith("sqlite"):
        raise ValueError(f"--storage {name}: is memory of this process: expected sqlite:///PATH")
    try:
        return _Named(_database(url), name)
    except (SQLAlchemyError, sqlite3.Error, RuntimeError, ImportError, OSError) as error:
        raise ValueError(_unusable(name, error)) from error


def _database(url: str) -> Any:
    """The database at a URL, with Optuna's tables.

    Optuna looks which tables there are, then makes the others: of two processes that do so at the
    same time one fails, and finds all that it needs when it looks again.
    """
    import optuna
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    wait = {"connect_args": {"timeout": WAIT}} if url.startswith("sqlite") else {}
    for attempt in range(ATTEMPTS):
        try:
            return optuna.storages.get_storage(
                optuna.storages.RDBStorage(url, engine_kwargs=wait)  # with a cache
            )
        except (IntegrityError, OperationalError, ProgrammingError, AssertionError) as error:
            if attempt + 1 == ATTEMPTS or not _disturbed(error):
                raise
            time.sleep(PAUSE * 2.0 * random.random())
    raise AssertionError


def _disturbed(error: Exception) -> bool:
    """Did a database fail because another process was making its tables?"""
    said = str(error).lower()
    signs = ("already exists", "unique constraint", "duplicate", "no such table", "does not exist")
    return isinstance(error, AssertionError) or any(sign in said for sign in signs)


class _Named:
    """A storage whose errors are one line, which names it. Those that Optuna foresees stay."""

    def __init__(self, storage: Any, name: str) -> None:
        self._storage, self._name = storage, name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._storage, attribute)
        return _told(found, self._name) if callable(found) else found


def _told(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method of a storage whose errors are lines."""
    from optuna.exceptions import DuplicatedStudyError, UpdateFinishedTrialError

    @wraps(call)
    def method(*arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except (DuplicatedStudyError, UpdateFinishedTrialError):
            raise
        except Exception as error:
            raise ValueError(_unusable(name, error)) from error

    return method


def _unusable(name: str, error: Exception) -> str:
    """Why a storage cannot be used: the error's cause where Optuna says only that there is one."""
    return f"--storage {name}: cannot be used: {_cause(error)}"


def _cause(error: Exception) -> str:
    """What lies behind an error, in one line."""
    cause = error.__cause__ or error
    return " ".join(str(cause).split("\n")[0].split()) or type(cause).__name__


def _journal(path: Path) -> Any:
    """The journal at a path.

    Its lock is a file. A symbolic link, as Optuna makes by default, may lead nowhere (a path that
    is relative, a journal that was moved): Optuna would wait for its end for ever.
    """
    from optuna.storages.journal import JournalFileBackend

    from failgym.tuning.journal_lock import Lock

    whole = path.absolute()
    lock = whole.with_name(f"{whole.name}.lock")
    if lock.is_symlink() and not lock.exists():
        lock.unlink(missing_ok=True)
    return JournalFileBackend(os.fspath(whole), Lock(whole, GRACE))


def folder_of(url: str) -> Path | None:
    """The folder of the file at a URL; None of a database elsewhere, or in memory.

    Raises:
        SQLAlchemyError: for what is no URL.
    """
    from sqlalchemy import make_url

    if url.startswith(JOURNAL):
        return Path(url.removeprefix(JOURNAL)).parent
    parts = make_url(url)
    file = parts.get_backend_name() == "sqlite" and parts.database
    return Path(file).parent if file and file != ":memory:" else None


def _without_password(url: str) -> str:
    """A URL as it may be shown. Raises ValueError for what is none."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    if url.startswith(JOURNAL) and len(url) > len(JOURNAL):
        return url
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError as error:
        raise ValueError(
            f"--storage: expected {JOURNAL}PATH or a URL such as sqlite:///PATH, got {url!r}"
        ) from error


def _check(study: Study, path: str, identity: Mapping[str, Any]) -> None:
    """Write down whose trials these are, or refuse those of another search. Raises ValueError."""
    begun = bool(study.trials)  # asked first: who begins writes down whose they are before
    known = study.user_attrs
    for name, value in identity.items():
        if name not in known and begun:
            raise ValueError(f"{path}: keeps the trials of another search: its {name} is not known")
        if name in known and known[name] != value:
            raise ValueError(
                f"{path}: keeps the trials of another search: its {name} was"
                f" {_differing(known[name], value)}"
            )
        if name not in known:
            study.set_user_attr(name, value)


def _make_database(path: Path) -> None:
    """Make the file of an empty search, whole or not at all, unless there is one.

    Raises an error of SQLite for a file that Optuna has not made: it would add its tables to it. A
    file is opened for writing, so that SQLite takes back what was being written at a kill.
    """
    import optuna

    if path.is_file() and path.stat().st_size:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as file:
            file.execute("select schema_version from version_info").fetchall()
            if file.execute("pragma integrity_check").fetchall() != [("ok",)]:
                raise sqlite3.DatabaseError("damaged")
        return
    with replacing(path) as partial:
        optuna.storages.RDBStorage(_url(partial)).engine.dispose()


def _url(path: Path) -> str:
    from sqlalchemy import URL

    return URL.create("sqlite", database=str(path)).render_as_string()


def _differing(before: Any, now: Any) -> str:
    """Two values, of long texts the parts that differ."""
    if isinstance(before, str) and isinstance(now, str):
        parts = [set(text.rstrip(")").split(", ")) for text in (before, now)]
        before, now = (", ".join(sorted(a - b)) for a, b in (parts, parts[::-1]))
    return f"{before}, is {now}"
