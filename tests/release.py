"""The checklist of a release: all that can be known before something is uploaded.

    python -m tests.release    # as `make dist-check` does, the last step of `make release-check`

Builds sdist and wheel into ``dist/``, looks at what they hold and at how they describe themselves,
and installs each into an empty environment, with what it depends on from the package index. There
the command and the library have to say the version. It uploads nothing, and ends with what is left
to a person. A step that fails is named, and ends it with status 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

import failgym

TOP = Path(__file__).parents[1]
DIST = TOP / "dist"
WORK = TOP / "build" / "release"
"""Environments of the checks, made anew each time."""
LARGEST = 20 * 1024 * 1024
"""Bytes of an archive; an index takes up to 100 MiB, and whoever installs waits for them."""


def stated_versions(top: Path) -> dict[str, str | None]:
    """The version by the file that states it; None where a file states none."""
    places = {
        "failgym/__init__.py": r'^__version__ = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "docs/cite.md": r"^ *version = \{(.+)\},$",
        "CHANGELOG.md": r"^## (\S+)$",  # the first section, without "(unreleased)"
    }
    found = {}
    for name, pattern in places.items():
        match = re.search(pattern, (top / name).read_text("utf-8"), re.MULTILINE)
        found[name] = match and match[1]
    return found


def version_problems(stated: dict[str, str | None]) -> Iterator[str]:
    """What states another version than the package, or none."""
    wanted = stated["failgym/__init__.py"]
    for name, version in stated.items():
        if version != wanted:
            yield f"{name}: expected version {wanted}, found {version or 'none'}"


def tree_problems(top: Path) -> Iterator[str]:
    """What git does not know of the tree: a release is made of a commit."""
    status = run("git", "status", "--porcelain", cwd=top)
    yield from (f"not committed: {line[3:]}" for line in status.splitlines())


def names_in(archive: Path) -> set[str]:
    """The files of a wheel, or of an sdist below its folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def content_problems(names: set[str], tracked: set[str]) -> Iterator[str]:
    """What an archive lacks of the library, or holds beside what is in the repository."""
    library = {name for name in tracked if name.startswith("failgym/")}
    for folder in ("agents", "baselines"):  # links, which archives hold as folders
        library.discard(f"failgym/{folder}")
        library |= {f"failgym/{name}" for name in tracked if name.startswith(f"{folder}/")}
    written = re.compile(r"PKG-INFO|\.gitignore|failgym-[^/]+\.dist-info/.+")
    yield from (f"lacks {name}" for name in sorted(library - names))
    beside = sorted(name for name in names - library - tracked if not written.fullmatch(name))
    yield from (f"holds {name}, which is not in the repository" for name in beside)


def metadata_problems(text: bytes, project: dict[str, Any], version: str) -> Iterator[str]:
    """What the metadata of a wheel says otherwise than pyproject.toml."""
    said = message_from_bytes(text)
    expected = {"Name": project["name"], "Version": version, "License-Expression": "MIT"}
    for field, value in expected.items():
        if said[field] != value:
            yield f"{field}: expected {value}, found {said[field]}"
    required = [Requirement(line) for line in said.get_all("Requires-Dist", [])]
    core = {each.name for each in required if "extra" not in str(each.marker or "")}
    wanted = {Requirement(line).name for line in project["dependencies"]}
    if core != wanted:
        yield f"dependencies: expected {sorted(wanted)}, found {sorted(core)}"
    extras = set(said.get_all("Provides-Extra", []))
    if extras != set(project["optional-dependencies"]):
        yield f"extras: found {sorted(extras)}"


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, outside of this repository's Python path. Raises SystemExit."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> None:
    """An sdist, and a wheel that is built from it alone."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, TOP, cwd=TOP)


def archives() -> list[Path]:
    """The sdist and the wheel."""
    return sorted(DIST.glob("failgym-*"))


def contents() -> Iterator[str]:
    """Problems of both archives."""
    tracked = set(run("git", "ls-files", cwd=TOP).splitlines())
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    found = {archive.suffix: archive for archive in archives()}
    if sorted(found) != [".gz", ".whl"]:
        yield f"dist: expected an sdist and a wheel, found {[each.name for each in archives()]}"
        return
    for archive in found.values():
        for problem in content_problems(names_in(archive), tracked):
            yield f"{archive.name}: {problem}"
        size = archive.stat().st_size
        if size > LARGEST:
            yield f"{archive.name}: has {size:,} bytes, expected at most {LARGEST:,}"
    with zipfile.ZipFile(found[".whl"]) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        text = wheel.read(name)
    yield from metadata_problems(text, project, failgym.__version__)


def described() -> None:
    """Would the index show the description, with no warning?"""
    tools = environment("tools")
    run(tools / "pip", "install", "--quiet", "twine>=6", cwd=WORK)
    run(tools / "twine", "check", "--strict", *archives(), cwd=WORK)


def environment(name: str) -> Path:
    """The scripts of a new environment that holds nothing."""
    folder = WORK / name
    run(sys.executable, "-m", "venv", "--clear", folder, cwd=WORK)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def installed(archive: Path) -> Iterator[str]:
    """Problems of an archive in an empty environment, away from the repository."""
    scripts = environment(archive.suffix[1:])
    run(scripts / "pip", "install", "--quiet", "--disable-pip-version-check", archive, cwd=WORK)
    run(scripts / "pip", "check", cwd=WORK)
    version = failgym.__version__
    played = ("evaluate", "--env", "Cloning-v1", "--policy", "algorithm_1", "--episodes", "20")
    expected = {
        ("failgym", "--version"): f"failgym {version}",
        ("python", "-c", "import failgym; print(failgym.__version__)"): version,
        ("python", "-c", "import failgym; print(failgym.__file__)"): str(scripts.parent),
        ("failgym", "envs"): "failgym/Mitigation-v1",
        ("failgym", "doctor"): version,
        ("failgym", *played): "algorithm_1",
    }
    for words, wanted in expected.items():
        said = run(scripts / words[0], *words[1:], cwd=WORK)
        if wanted not in said:
            yield f"{archive.name}: {' '.join(words)}: expected {wanted}, printed {said.strip()}"


def step(name: str, problems: Callable[[], Iterator[str] | None]) -> None:
    """Do a step, and say how it ended. Raises SystemExit if it found a problem."""
    print(f"{name} ...", flush=True)
    found = list(problems() or ())
    if found:
        sys.exit("\n".join([f"{name}: not ready for a release", *found]))


def main() -> None:
    """All steps, then what is left to a person."""
    WORK.mkdir(parents=True, exist_ok=True)
    step("one version everywhere", lambda: version_problems(stated_versions(TOP)))
    step("all is committed", lambda: tree_problems(TOP))
    step("sdist, and wheel from it", build)
    step("what they hold", contents)
    step("how they describe themselves", described)
    for archive in archives():
        step(f"{archive.name} in an empty environment", lambda archive=archive: installed(archive))
    version = failgym.__version__
    print(f"\nfailgym {version} is ready, and nothing has been uploaded:")
    for archive in archives():
        print(f"  {archive.relative_to(TOP)}  {archive.stat().st_size:,} bytes")
    print("What is left to you:")
    print(f"  git tag -a v{version} -m 'failgym {version}' && git push origin v{version}")
    print("  python -m twine upload --repository testpypi dist/*   # look at it there first")
    print("  python -m twine upload dist/*")


if __name__ == "__main__":
    main()
