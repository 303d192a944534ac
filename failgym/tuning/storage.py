"""Where a search keeps its trials: a SQLite file of its own, or what several processes share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
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
    except (SQLAlchemyError, sqlite3.Error, RuntimeError) as error:
        raise ValueError(f"{path}: not a file of trials") from error
    _check(study, str(path), identity)
    return study


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
    from sqlalchemy.exc import SQLAlchemyError

    from failgym.tuning.search import pruner

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name = _without_password(url)
    try:
        study = optuna.create_study(
            storage=_storage(url, name),
            study_name=STUDY,
            direction="maximize",
            pruner=pruner(),
            load_if_exists=True,
        )
    except (SQLAlchemyError, sqlite3.Error, RuntimeError, ImportError, OSError) as error:
        said = " ".join(str(error).split("\n")[0].split())
        raise ValueError(f"--storage {name}: cannot be used: {said}") from error
    _check(study, f"--storage {name}", identity)
    _check(study, f"--storage {name}", identity)  # another search may have begun at the same time
    return study


def _storage(url: str, name: str) -> Any:
    """Optuna's storage at a URL. Raises ValueError, and what SQLAlchemy raises."""
    import optuna

    folder = folder_of(url)
    if folder is not None and not folder.is_dir():
        raise ValueError(f"--storage {name}: no such folder: {folder}")
    if url.startswith(JOURNAL):
        try:
            return optuna.storages.JournalStorage(_journal(Path(url.removeprefix(JOURNAL))))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"--storage {name}: not a journal of trials") from error
    wait = {"connect_args": {"timeout": WAIT}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs=wait)


def _journal(path: Path) -> Any:
    """The journal at a path.

    Its lock is a file. A symbolic link, as Optuna makes by default, may lead nowhere (a path that
    is relative, a journal that was moved): Optuna would wait for its end for ever.
    """
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    whole = path.absolute()
    lock = whole.with_name(f"{whole.name}.lock")
    if lock.is_symlink() and not lock.exists():
        lock.unlink(missing_ok=True)
    return JournalFileBackend(os.fspath(whole), JournalFileOpenLock(os.fspath(whole), GRACE))


def folder_of(url: str) -> Path | None:
    """The folder of the file at a URL; None of a database elsewhere.

    Raises:
        SQLAlchemyError: for what is no URL.
    """
    from sqlalchemy import make_url

    if url.startswith(JOURNAL):
        return Path(url.removeprefix(JOURNAL)).parent
    parts = make_url(url)
    file = parts.get_backend_name() == "sqlite" and parts.database
    return Path(file).parent if file else None


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
