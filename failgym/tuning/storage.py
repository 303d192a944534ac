"""The file in which a search keeps its trials: SQLite, of Optuna's layout."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failgym.files import replacing

if TYPE_CHECKING:
    from optuna import Study

__all__ = ["file_study"]


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
            storage=_url(path), study_name="failgym", direction="maximize", load_if_exists=True
        )
    except (SQLAlchemyError, sqlite3.Error, RuntimeError) as error:
        raise ValueError(f"{path}: not a file of trials") from error
    _check(study, path, identity)
    return study


def _check(study: Study, path: Path, identity: Mapping[str, Any]) -> None:
    """Write down whose trials these are, or refuse those of another search. Raises ValueError."""
    known = study.user_attrs
    for name, value in identity.items():
        if name not in known and study.trials:
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
