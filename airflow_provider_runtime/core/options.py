"""Options of readers and writers, whose names Spark tells apart without regard to case."""

from __future__ import annotations

from collections.abc import Mapping


def get_option(options: Mapping[str, str], name: str) -> str | None:
    """Return the value of an option, however its name is spelled."""
    return next((value for key, value in options.items() if key.lower() == name.lower()), None)


def merge_options(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return options of which later ones take the place of earlier ones, however their names are spelled."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(merged.values())


def drop_option(options: Mapping[str, str], name: str) -> dict[str, str]:
    """Return options without one, however its name is spelled."""
    return {key: value for key, value in options.items() if key.lower() != name.lower()}
