"""The name that was probably meant, and lists that stay short."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_LIST = 8
MOST_NAMES = 2_000
"""Candidates from which none is looked for."""
MOST_COMPARED = 200_000
"""Characters of a name times those of the candidates, from which only names with the same beginning are compared."""


def find_nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like a name, or None when none is near."""
    known = list(candidates)
    if len(known) > MOST_NAMES:
        return None
    names = {candidate.lower(): candidate for candidate in known}
    lowered = name.lower()
    if lowered in names:
        return names[lowered]
    matches = get_close_matches(lowered[:200], _choose_compared(lowered[:200], names), n=1, cutoff=0.6)
    return names[matches[0]] if matches else None


def _choose_compared(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that are compared: the time for that grows with the lengths of both."""
    # Names whose lengths differ more are never alike enough.
    near = [found for found in candidates if 3 * len(found) <= 7 * len(name) and 3 * len(name) <= 7 * len(found)]
    if len(name) * sum(map(len, near)) > MOST_COMPARED:
        near = [found for found in near if found[:2] == name[:2] and abs(len(found) - len(name)) <= 1]
    return near if len(name) * sum(map(len, near)) <= MOST_COMPARED else []


def list_names(names: Iterable[str], limit: int = LONGEST_LIST) -> str:
    """Return names separated by commas, at most so many, with the number of those left out."""
    all_names = list(names)
    shown = ", ".join(all_names[:limit])
    return shown if len(all_names) <= limit else f"{shown} and {len(all_names) - limit} more"


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Return a hint for an unknown name: the nearest one, else the known ones, else nothing."""
    known = list(candidates)
    nearest = find_nearest(name, known)
    if nearest is not None:
        return f"did you mean '{nearest}'?"
    return f"known are: {list_names(known)}" if known else None
