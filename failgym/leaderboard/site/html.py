"""Pages of HTML made of elements, so that no text of a submission can become markup.

Text is escaped where an element is written, by `xml.etree.ElementTree`. A page runs no script, asks
for nothing from elsewhere, and its own policy forbids both (Content-Security-Policy).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

__all__ = ["MOST_ITEMS", "Node", "cut", "document", "facts", "items", "legible", "node", "table"]

Node = ET.Element | str
"""An element, or text."""
MOST_TEXT = 2_000
"""Signs of a text that are shown of what somebody states."""
MOST_ITEMS = 200
"""Texts of a list that are shown of what the file of a policy says."""


def legible(text: str) -> str:
    """The text with signs that cannot be seen, or that turn its direction, as escapes."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text
    )


def node(tag: str, *children: Node | None, **attributes: str) -> ET.Element:
    """An element.

    Args:
        tag: its name.
        children: what is in it; None is nothing.
        attributes: `class_` stands for `class`, other underscores for hyphens.
    """
    made = ET.Element(
        tag, {name.rstrip("_").replace("_", "-"): legible(of) for name, of in attributes.items()}
    )
    last: ET.Element | None = None
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
            last = child
        elif child is not None and last is None:
            made.text = (made.text or "") + legible(child)
        elif child is not None and last is not None:
            last.tail = (last.tail or "") + legible(child)
    return made


def facts(pairs: Iterable[tuple[str, Node | None]]) -> ET.Element:
    """A list of names and what is known of each; without those of which nothing is."""
    made = node("dl")
    for name, fact in pairs:
        if fact is not None and fact != "":
            made.extend((node("dt", name), node("dd", fact)))
    return made


def items(texts: Iterable[str]) -> ET.Element:
    """A list of texts as they were typed, the long ones cut."""
    return node("ul", *(node("li", node("code", cut(text))) for text in texts))


def cut(text: str) -> str:
    """The beginning of a long text, and how long it is."""
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} … ({len(text):,} signs)"


def table(label: str, columns: Sequence[str], rows: Iterable[Sequence[Node]]) -> ET.Element:
    """A table that is scrolled sideways where it is too wide; a row's first cell is its heading."""
    head = node("tr", *(node("th", column, scope="col") for column in columns))
    body = [
        node("tr", node("th", first, scope="row"), *(node("td", cell) for cell in cells))
        for first, *cells in rows
    ]
    made = node("table", node("thead", head), node("tbody", *body))
    return node("div", made, class_="scroll", tabindex="0", role="region", aria_label=label)


def document(title: str, style: str, *body: Node) -> str:
    """A whole page.

    Args:
        title: of the window.
        style: CSS of our own; nothing of a submission.
        body: what is shown.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = node(
        "head",
        node("meta", charset="utf-8"),
        node("meta", http_equiv="Content-Security-Policy", content=policy),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("meta", name="color-scheme", content="light dark"),
        node("title", title),
    )
    sheet = ET.SubElement(head, "style")
    sheet.text = style
    page = node("html", head, node("body", *body), lang="en")
    return f"<!doctype html>\n{ET.tostring(page, encoding='unicode', method='html')}\n"
