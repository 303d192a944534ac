"""The hosts and racks that a Hadoop job history names, and the topology file beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.rumen.names import told_name
from failgym.traces.readers.sources import Advance
from failgym.traces.schema import TraceError

__all__ = ["Hosts", "read_topology"]

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass
class Hosts:
    """The machines by name, each with its rack where one is told."""

    racks: dict[str, str | None] = field(default_factory=dict[str, str | None])
    rows: dict[str, int] = field(default_factory=dict[str, int])
    elsewhere: set[str] = field(default_factory=set[str])
    """hosts that were told to be in several racks"""

    def row(self, host: str, rack: str | None) -> int:
        """The row of a machine, which is in that rack; the first rack told is believed."""
        if host not in self.rows:
            self.rows[host] = len(self.rows)
            self.racks[host] = rack
        elif rack is not None and self.racks[host] != rack:
            if self.racks[host] is None:
                self.racks[host] = rack
            else:
                self.elsewhere.add(host)
        return self.rows[host]

    def of(self, attempt: Fields) -> int | None:
        """The row of the machine that an attempt ran on; None if it is not told."""
        name = told_name(attempt, "hostName")
        location = attempt.object("location")
        parts = _parts(name or "") or ([] if location is None else _layers(location))
        return self.row(parts[-1], "/".join(parts[:-1]) or None) if parts else None

    def columns(self, count: Counts) -> dict[str, Any]:
        """The machines table."""
        if self.elsewhere:
            count.note("machine told to be in several racks", len(self.elsewhere))
        return {
            "original_id": list(self.rows),
            "domain": [self.racks[host] for host in self.rows],
            "speed": [1.0] * len(self.rows),
        }


def read_topology(file: Path, hosts: Hosts, count: Counts, advance: Advance) -> None:
    """Take in the leaves of the topology as machines, the names above them as their racks.

    Raises TraceError.
    """
    objects = list(json_objects(file, advance))
    if len(objects) != 1:
        raise TraceError(f"{file}: {len(objects)} objects, expected one topology")
    waiting: list[tuple[Fields, list[str]]] = [(Fields(file, *objects[0]), [])]
    while waiting:
        node, above = waiting.pop()
        node.need("name", "the name of a network node")
        name = _unescaped(told_name(node, "name") or "")
        children = list(node.objects("children"))
        inside = [*above, name] if node.at else []  # the root is no rack
        waiting += [(child, inside) for child in reversed(children)]
        if not children and node.at:
            count.read("machines of the topology")
            hosts.row(name, "/".join(above) or None)


def _layers(location: Fields) -> list[str]:
    """The network names of a location, the broadest first."""
    parts: list[str] = []
    for position, layer in enumerate(location.array("layers")):
        key = f"layers[{position}]"
        named = Fields(location.file, location.line, {key: layer}, location.at)
        name = told_name(named, key) if isinstance(layer, str | dict) else None
        if name is None:
            named.fail(key, "the name of a network node")
        parts += _parts(name)
    return parts


def _parts(name: str) -> list[str]:
    """The names in `/rack/host`, `host` and the like; Rumen escapes dots by backslashes."""
    return [part for part in _unescaped(name).split("/") if part]


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(r"\1", name)
