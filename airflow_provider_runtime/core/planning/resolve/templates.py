"""Tokens such as `{{table_name}}` and `{{YYYY}}` in the paths, tables and parameters of resolvers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_runtime.core.errors import Place, Problem, ResolveError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import TEMPLATE_TOKENS
from airflow_provider_runtime.core.suggest import suggest

_TOKEN = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


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


def list_unknown_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a template that stand for nothing, each once, in order."""
    names = dict.fromkeys(name.strip() for name in _TOKEN.findall(text))
    return tuple(name for name in names if name not in TEMPLATE_TOKENS)


def render_template(text: str, values: Mapping[str, str], place: Place | None = None) -> str:
    """Return the template with its tokens replaced; an unknown token is RESOLVE_004."""
    if unknown := list_unknown_tokens(text):
        raise ResolveError(_report_unknown(name, text, place or Place()) for name in unknown)
    return _TOKEN.sub(lambda match: values[match[1].strip()], text)


def _report_unknown(name: str, text: str, place: Place) -> Problem:
    message = f"unknown template token '{{{{{name}}}}}' in '{text}'"
    return Problem("RESOLVE_004", message, suggest(name, TEMPLATE_TOKENS), place)
