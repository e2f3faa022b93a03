"""The publications of a period in their order, each with the rows and totals that readers got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_runtime.core.registry.ports import Publication

Document = dict[str, Any]


def describe_publication(publication: Publication) -> Document:
    """Return a publication as JSON shows it."""
    return {
        "number": publication.number,
        "run_id": publication.run_id,
        "snapshot_sha256": publication.snapshot_sha256,
        "published_at": publication.published_at.isoformat(),
        "outputs": [
            {"seq": output.get("seq"), "destination": output.get("destination"), "rows": output.get("rows")}
            for output in publication.outputs
        ],
        "totals": [*_list_control_totals(publication), *_list_compared_totals(publication)],
    }


def _list_control_totals(publication: Publication) -> Iterator[Document]:
    """Yield what the checks of kind `value` have measured."""
    for check in publication.checks:
        if check.get("kind") != "value":
            continue
        groups: list[Mapping[str, Any]] = list(check.get("groups") or ())
        for group in groups:
            yield _make_total(check.get("output"), check.get("name"), group.get("value"), group.get("key"))
        if not groups:
            yield _make_total(check.get("output"), check.get("name"), check.get("value"))


def _list_compared_totals(publication: Publication) -> Iterator[Document]:
    """Yield the totals of columns that a comparison with the publication before has taken."""
    comparison: Mapping[str, Any] = publication.report.get("comparison") or {}
    for output in comparison.get("outputs") or ():
        for column in output.get("columns") or ():
            if column.get("total_after") is not None:
                yield _make_total(output.get("seq"), column["name"], column["total_after"])


def _make_total(output: Any, name: Any, value: Any, key: Any = None) -> Document:
    return {"output": output, "name": name, "value": value, **({"key": dict(key)} if key else {})}
