"""YAML as people write it: numbers such as 1e-3 are numbers, a name given twice is a mistake."""

# PyYAML annotates nothing.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["read_yaml"]


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which makes plain values only, with the numbers of YAML 1.2."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A dict. Raises ConstructorError for a name that is given twice."""
        names: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in names:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value} is given twice", key.start_mark
                )
            names.add(str(key.value))
        return super().construct_mapping(node, deep)


# YAML 1.1, which PyYAML reads, takes 1e-3 for a text: it wants a point.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


_REFUSED = (
    *(yaml.YAMLError, RecursionError, ValueError),
    *(KeyError, IndexError, TypeError, AttributeError),  # of tags on what they do not fit
)


def read_yaml(text: str, where: str) -> Any:
    """The plain value that a text stands for.

    Args:
        text: YAML.
        where: what errors call it.

    Raises:
        ValueError: in one line, for a text that is no YAML, or asks for objects.

    >>> read_yaml("{learning_rate: 1e-3, policy: {net_arch: [64, 64]}}", "example")
    {'learning_rate': 0.001, 'policy': {'net_arch': [64, 64]}}
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}: {line}{error.problem}") from error
    except _REFUSED as error:
        raise ValueError(f"{where}: expected YAML") from error
