"""Names that read alike, whatever they are written with.

After the skeletons of Unicode Technical Standard 39: accents, case, invisible signs and kinds of
dashes and spaces go, and letters become the Latin ones that they look like. The table holds those
that make up Latin words, and no more.
"""

from __future__ import annotations

import unicodedata

__all__ = ["skeleton"]

_ALIKE = (
    ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458", "aeopcyxsij"),  # Cyrillic
    ("\u043a\u043c\u0442\u0432\u043d\u04bb\u04cf\u0501\u051b\u051d\u044c", "kmtbhhldqwb"),
    ("\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7", "abeikvoptux"),  # Greek
    ("\u03b3\u03b7\u03c9\u03bc\u03b6\u03f2", "ynwuzc"),
    ("\u0585\u057d\u0578\u0570\u0581", "ounhg"),  # Armenian
    ("\u0131\u0251\u0261\u01c0\u00f8\u0142\u0111", "iaglold"),  # Latin
    (
        "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f",
        "abcdefghijkl",
    ),  # small capitals
    ("\u1d0d\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22", "mnoprstuvwyz"),
)
_TABLE = str.maketrans("".join(signs for signs, _ in _ALIKE), "".join(like for _, like in _ALIKE))
_FIGURES = str.maketrans("01|i", "olll")
_DASHES_AND_SPACES = ("Pd", "Pc", "Zs")
_UNSEEN = ("Mn", "Me", "Cf")
_BLANK = "\u3164\u115f\u1160\uffa0\u2800"
"""Letters and signs without a shape."""


def skeleton(name: str) -> str:
    """What a name reads like: names with the same skeleton are taken for one another.

    >>> skeleton("Retry-Cap") == skeleton("retry_cap")
    True
    >>> skeleton("young") == skeleton("daly")
    False
    """
    signs: list[str] = []
    for sign in unicodedata.normalize("NFKD", name).casefold():
        kind = unicodedata.category(sign)
        if kind not in _UNSEEN and sign not in _BLANK:
            signs.append("_" if kind in _DASHES_AND_SPACES or sign in ".\u00b7" else sign)
    plain = "".join(signs).translate(_TABLE).translate(_FIGURES)
    return plain.replace("rn", "m").replace("vv", "w")
