"""Tokens such as `{{table_name}}` and `{{YYYY}}` in the paths, tables and parameters of resolvers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.errors import Code, Place, Problem, ResolveError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import TEMPLATE_TOKENS
from airflow_provider_runtime.core.suggest import suggest

_TOKEN = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TemplateFault:
    """What is wrong with a template, and between which of its characters."""

    code: Code
    message: str
    hint: str | None
    start: int
    end: int


def make_token_values(dataset_id: str, dataset_version: int, table_name: str, period: Period) -> dict[str, str]:
    """Return what every token stands for; year, month, day and quarter (Q1) are those of the period's first day."""
    start = period.start_date
    return {
        "table_name": table_name,
        "dataset_id": dataset_id,
        "dataset_version": str(dataset_version),
        "identifier": period.identifier,
        "YYYY": f"{start.year:04}",
        "MM": f"{start.month:02}",
        "DD": f"{start.day:02}",
        "QQ": f"Q{(start.month + 2) // 3}",
        "start_date": start.isoformat(),
        "end_date": period.end_date.isoformat(),
    }


def find_template_faults(text: str) -> Iterator[TemplateFault]:
    """Yield the tokens of a template that stand for nothing, and braces that are half of a token."""
    yield from _find_unknown_tokens(text)
    half = _find_half_token(text)
    if half is not None:
        yield TemplateFault("CATALOG_002", "half of a template token", "write it like {{table_name}}", half, half + 2)


def _find_unknown_tokens(text: str) -> Iterator[TemplateFault]:
    for match in _TOKEN.finditer(text):
        name = match[1].strip()
        if name not in TEMPLATE_TOKENS:
            message = f"unknown template token '{match[0][:60]}'"
            yield TemplateFault("RESOLVE_004", message, suggest(name, TEMPLATE_TOKENS), *match.span())


def _find_half_token(text: str) -> int | None:
    """Return the places of braces that are not part of a token; `{a,{b,c}}` is a choice of names, not a token."""
    others = _TOKEN.sub(lambda match: " " * len(match[0]), text)
    if "{{" in others:
        return others.index("{{")
    return others.index("}}") if "}}" in others and others.count("}") > others.count("{") else None


def render_template(text: str, values: Mapping[str, str], locate: Callable[[], Place] = Place) -> str:
    """Return the template with its tokens replaced; an unknown token is RESOLVE_004."""
    if unknown := list(_find_unknown_tokens(text)):
        raise ResolveError(Problem(fault.code, fault.message, fault.hint, locate()) for fault in unknown)
    return _TOKEN.sub(lambda match: values[match[1].strip()], text)
