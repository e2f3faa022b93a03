"""Evidence as one HTML file: printable, without scripts and without anything that it would have to fetch."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from airflow_provider_runtime.core.evidence.gather import Evidence


def render_page(evidence: Evidence) -> str:
    """Return the evidence as an HTML document."""
    return _get_template().render(evidence=evidence)


@cache
def _get_template() -> Template:
    loader = PackageLoader("airflow_provider_runtime.core.evidence", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"] = _format_count
    return environment.get_template("evidence.html")


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
