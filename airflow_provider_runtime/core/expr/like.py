"""Patterns of LIKE: `%` for any characters, `_` for one, and what a character of escape makes plain."""

from __future__ import annotations

import re

WILDCARDS = "%_"
_ESCAPE = "\\"


def read_pattern(pattern: str, escape: str | None) -> str:
    """Return a pattern in which a backslash escapes; raise ValueError where the escape is followed by anything else."""
    found, index = [], 0
    while index < len(pattern):
        character = pattern[index]
        if character == escape:
            index += 1
            character = pattern[index : index + 1]
            if not character or character not in f"{WILDCARDS}{escape}":
                place = f"before '{character}'" if character else "at the end"
                raise ValueError(f"the escape '{escape}' is {place}")
            found.append(_make_plain(character))
        else:
            found.append(character if character in WILDCARDS else _make_plain(character))
        index += 1
    return "".join(found)


def matches(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern in which a backslash escapes."""
    parts = re.findall(r"\\(.)|(%)|(_)|([^\\%_]+)", pattern, re.DOTALL)
    regex = "".join(re.escape(plain or run) if plain or run else ".*" if many else "." for plain, many, _, run in parts)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _make_plain(character: str) -> str:
    return _ESCAPE + character if character in f"{WILDCARDS}{_ESCAPE}" else character
