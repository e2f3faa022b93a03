"""The name that was probably meant, and lists that stay short."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_LIST = 8


def find_nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like a name, or None when none is near."""
    names = {candidate.lower(): candidate for candidate in candidates}
    lowered = name.lower()
    if lowered in names:
        return names[lowered]
    matches = get_close_matches(lowered[:200], names, n=1, cutoff=0.6)
    return names[matches[0]] if matches else None


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
