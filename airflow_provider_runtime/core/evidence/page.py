"""Evidence as one HTML file: printable, without scripts and without anything that it would have to fetch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from airflow_provider_runtime.core.evidence.gather import Evidence

LONG_WORD = re.compile(r"(\S{20,})")
PIECE = re.compile(r".{1,12}?[/_.-]|.{1,12}")


def render_page(evidence: Evidence) -> str:
    """Return the evidence as an HTML document."""
    return render_template("evidence.html", evidence=evidence)


def render_template(name: str, **values: object) -> str:
    """Return a template filled with values; what people wrote is not markup."""
    return _get_environment().get_template(name).render(**values)


@cache
def _get_environment() -> Environment:
    loader = PackageLoader("airflow_provider_runtime.core.evidence", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["split_words"] = _split_words
    environment.filters["count"] = _format_count
    environment.filters["pick"] = _pick
    environment.tests["differs"] = _differs
    return environment


def _split_words(value: object) -> list[str]:
    """Return a text in pieces between which a line may end: within long words, such as paths and digests."""
    words = LONG_WORD.split(str(value))
    return [piece for word in words for piece in (PIECE.findall(word) if LONG_WORD.fullmatch(word) else [word])]


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _pick(entry: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """Return some values of an entry, as the cells of a row."""
    return [entry[key] for key in keys]


def _differs(column: Mapping[str, Any]) -> bool:
    """Return whether rows of a compared column have changed, or its total."""
    return bool(column["changed"]) or any(digit in "123456789" for digit in column["difference"] or "")
