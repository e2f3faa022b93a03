"""Snapshots of earlier versions, as the version of today: the same rows and ids, years later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_READ = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:@w|@@(?P<alias>[^`]+))`\.`(?P<column>(?:[^`]|``)+)`")


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 as one of version 2, in which the plan says what its SQL reads and adds."""
    plan = document["plan"]
    settings = plan.get("settings") or {}
    known = {column["name"] for column in plan["input_columns"]}
    operations = []
    for operation in plan["operations"]:
        added = [column for column in operation["columns_after"] if column["name"] not in known]
        known |= {column["name"] for column in added}
        operations.append(_upgrade_operation(operation, added, settings.get("registers") or {}))
    changed = {"operations": operations, "settings": _upgrade_settings(settings)}
    return {**document, "snapshot_version": 2, "plan": {**plan, **changed}}


def _upgrade_operation(
    operation: dict[str, Any], added: list[dict[str, Any]], registers: dict[str, Any]
) -> dict[str, Any]:
    where = operation.get("where")
    where_reads = [] if where is None else list_reads(where)
    upgraded = {
        **operation,
        "adds": added,
        "where_reads": where_reads,
        "joins": [_upgrade_join(join, where_reads) for join in operation.get("joins") or ()],
    }
    for group in ("assignments", "aggregations", "columns"):
        if group in operation and operation["type"] != "output":
            upgraded[group] = [{**item, "reads": list_reads(item["sql"])} for item in operation[group]]
    if operation.get("slice") and str(operation["seq"]) in registers:
        definition = registers[str(operation["seq"])]["definition"]
        upgraded["slice"] = {**operation["slice"], "definition": definition}
    return upgraded


def _upgrade_join(join: dict[str, Any], where_reads: list[dict[str, Any]]) -> dict[str, Any]:
    columns = [*join["columns"], *(read["column"] for read in where_reads if read["alias"] == join["alias"])]
    return {**join, "columns": list(dict.fromkeys(columns)), "reads": list_reads(join["condition"])}


def _upgrade_settings(settings: dict[str, Any]) -> dict[str, Any]:
    trace = {
        key: {**entry, "resolver_id": str(entry.get("resolver", "")).partition(" version ")[0]}
        for key, entry in (settings.get("trace") or {}).items()
    }
    return {**settings, "enclosing_periods": settings.get("lies_in") or [], "trace": trace}


def list_reads(sql: str) -> list[dict[str, Any]]:
    """Return the columns that SQL of version 1 reads; what is in a text literal is not one."""
    return [{"column": column, "alias": alias} for alias, column in dict.fromkeys(_find_reads(sql))]


def _find_reads(sql: str) -> Iterator[tuple[str | None, str]]:
    for match in _READ.finditer(sql):
        if match["column"] is not None:
            yield match["alias"], match["column"].replace("``", "`")
