"""Hadoop's glob patterns, as patterns that Python's glob and fsspec know."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\.|.", re.DOTALL)


def expand_pattern(pattern: str) -> list[str]:
    """Return patterns without braces and backslashes that together match what one of Hadoop's does."""
    return ["".join(map(_translate, tokens)) for tokens in _expand(_TOKEN.findall(pattern))]


def _expand(tokens: list[str]) -> list[list[str]]:
    begin = next((index for index, token in enumerate(tokens) if token == "{"), None)
    if begin is None:
        return [tokens]
    depth, choices, start = 0, [], begin + 1
    for index in range(begin, len(tokens)):
        token = tokens[index]
        depth += (token == "{") - (token == "}")
        if depth == 1 and token == ",":
            choices.append(tokens[start:index])
            start = index + 1
        if depth == 0:
            choices.append(tokens[start:index])
            return [found for choice in choices for found in _expand(tokens[:begin] + choice + tokens[index + 1 :])]
    return [tokens]


def _translate(token: str) -> str:
    if token.startswith("\\") and len(token) == 2:
        return f"[{token[1]}]" if token[1] in "*?[" else token[1]
    return "!" if token == "^" else token
