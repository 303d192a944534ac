"""Pages of the interface: every name that a package offers (`__all__`), shown by mkdocstrings."""

from __future__ import annotations

import inspect
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["PACKAGES", "home_of", "interface_index", "interface_page", "place"]

PACKAGES = {
    "failgym": "evaluate a policy, write one",
    "failgym.envs": "environments, scenarios, fields of the observation",
    "failgym.evaluation": "policies on many episodes, scores between replay and a bound",
    "failgym.baselines": "the rules that come with failgym",
    "failgym.agents": "training and playing learned agents",
    "failgym.counterfactual": "what every answer would have cost",
    "failgym.predictors": "forecasts",
    "failgym.traces": "traces: tables, readers, generators",
    "failgym.worlds": "kinds of worlds",
    "failgym.metrics": "metrics of the papers",
    "failgym.comparison": "does one trace behave like another?",
    "failgym.tuning": "search for parameters",
    "failgym.leaderboard": "suites and submissions",
    "failgym.vocabulary": "actions, events, outcomes, units of time",
}
"""Packages with pages, and what each is for."""
INHERITING = ("Scenario",)
"""Classes that are shown with what they inherit: their fields."""


def place(package: str) -> str:
    """Where the page of a package is on the site."""
    return f"api/{package.partition('.')[2] or 'failgym'}.md"


def interface_index() -> str:
    """The page that lists the packages."""
    rows = [
        f"| [`{name}`]({place(name).partition('/')[2]}) | {what} |"
        for name, what in PACKAGES.items()
    ]
    lead = "Every public name, with its arguments, shapes, units and errors."
    return "\n".join(["# API reference", "", lead, "", "| package | for |", "|---|---|", *rows, ""])


def interface_page(package: str) -> str:
    """The page of a package: what it is, then each name of its ``__all__``.

    Args:
        package: the name to import.
    """
    module = import_module(package)
    parts = [f"# {package}", inspect.getdoc(module) or "", *_elsewhere(package)]
    for name in module.__all__:
        home = home_of(module, name)
        if home is not None and _shown_on(home) == package:
            more = "\n      inherited_members: true" if name in INHERITING else ""
            options = f"      heading: {name}\n      toc_label: {name}{more}"
            parts.append(f"::: {home}\n    options:\n{options}")
    return "\n\n".join(parts) + "\n"


def _shown_on(home: str) -> str:
    """The package on whose page a name stands: the last that offers it, for one page alone."""
    return _shown()[home]


@lru_cache(maxsize=1)
def _shown() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            home = home_of(module, name)
            if home is not None:
                found[home] = package
    return found


def _elsewhere(package: str) -> list[str]:
    """A line that says where names are that stand on the page of another package."""
    module = import_module(package)
    links: list[str] = []
    for name in module.__all__:
        home = home_of(module, name)
        if home is not None and (page := _shown_on(home)) != package:
            links.append(f"[`{name}`]({place(page).partition('/')[2]}#{home})")
    return [f"On other pages: {', '.join(links)}."] if links else []


def home_of(module: Any, name: str) -> str | None:
    """The path by which a name is found in the code; None for another module or plain data."""
    value = getattr(module, name)
    if inspect.ismodule(value) or name.startswith("__"):
        return None
    if inspect.isclass(value) or inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{module.__name__}.{name}"
