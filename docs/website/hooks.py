"""What MkDocs calls while it builds the site (`hooks` in mkdocs.yml)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2]))

from docs.website import environments, interface, rules
from docs.website.links import HOMES, shown_source, sources, translated
from docs.website.measured import TOP
from failgym.envs import SCENARIOS

__all__ = ["on_config", "on_files", "on_page_content", "on_page_markdown"]

_ORIGINS = {place: origin for origin, place in HOMES.items()}
"""Page of the site -> where its text is in the repository, outside of docs/."""
_LESS_READ = ("api/", "rules/", "results/", "changelog.md")
"""Pages that the search puts behind those of guides and environments, if both fit."""
_SHORT = re.compile(r"<code>([^<]{1,28})</code>")
"""A name or an option in a text, which fits into a line on a phone."""


def made_pages() -> dict[str, str]:
    """Place on the site -> text, for every page that is not a file of docs/."""
    pages = {place: (TOP / origin).read_text("utf-8") for origin, place in HOMES.items()}
    pages |= {environments.place(name): environments.environment_page(name) for name in SCENARIOS}
    pages |= {place: rules.rules_page(place) for place in rules.REFERENCES}
    pages |= rules.example_pages()
    pages |= {"api/index.md": interface.interface_index()}
    pages |= {interface.place(name): interface.interface_page(name) for name in interface.PACKAGES}
    pages["rules/examples.md"] += "\n" + rules.listed(rules.EXAMPLES, "rules/examples.md")
    below = rules.EXAMPLES / "scheduled"
    pages["rules/scheduled_examples.md"] += "\n" + rules.listed(
        below, "rules/scheduled_examples.md"
    )
    return pages


def on_config(config: Any) -> Any:
    """Name pages in the navigation that are found, not listed: environments, packages, new guides.

    A page of docs/ that mkdocs.yml does not name is a guide.
    """
    named = json.dumps(config.nav)
    pages = sorted(path.name for path in (TOP / "docs").glob("*.md"))
    new = [name for name in pages if f'"{name}"' not in named]
    for section in config.nav:
        if "Guides" in section:
            section["Guides"] = [*section["Guides"], *new]
        if "Environments" in section:
            pages = [{name: environments.place(name)} for name in SCENARIOS]
            section["Environments"] = [*section["Environments"], *pages]
        if "API" in section:
            pages = [{name: interface.place(name)} for name in interface.PACKAGES]
            section["API"] = [*section["API"], *pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and those of sources that pages link to."""
    pages = made_pages()
    texts = [(file.content_string, f"docs/{file.src_uri}") for file in files.documentation_pages()]
    texts += [(text, _ORIGINS[place]) for place, text in pages.items() if place in _ORIGINS]
    pages |= {f"source/{path}.md": shown_source(path) for path in sorted(sources(texts))}
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they must read on the site, ids of environments in tables too."""
    at: str = page.file.src_uri
    if at == HOMES["README.md"]:
        page.meta["hide"] = ["navigation"]  # a list of this page alone
    if at.startswith(_LESS_READ):
        page.meta.setdefault("search", {}).setdefault("boost", 0.3)
    if at in _ORIGINS:
        markdown = translated(markdown, _ORIGINS[at], at)
    elif page.file.generated_by is None:
        markdown = translated(markdown, f"docs/{at}", at)
    return environments.with_links(markdown, at)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Mark names and options, so that no line ends within one (`--policy-` and `command`)."""
    return _SHORT.sub(r'<code class="short">\1</code>', html)
