"""Projects whose only mistakes are in the form of their checks: everything else in them is checked all the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from airflow_provider_runtime.core.catalog.definition import Definition, SourceMap
from airflow_provider_runtime.core.catalog.yaml_nodes import Value
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.project import Project

PARTS_APART = frozenset({"checks", "airflow", "publication", "description", "keep_failing_rows"})
"""Keys of a project without which the rest of it means the same."""
MOST_ROUNDS = 3
"""How often mistakes are replaced: without one of them, another may show up."""


@dataclass(frozen=True, slots=True)
class PartlyRead:
    """A project without what is wrong in it, and the places of that."""

    definition: Definition[Project]
    fields: frozenset[str]

    def is_called(self, reference: str) -> bool:
        """Whether this is the project's id or name."""
        return reference in (self.definition.model.id, self.definition.model.name)

    def drop_followers(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return the problems that are not said only because something was left out."""
        return [problem for problem in problems if not self._follows(problem)]

    def _follows(self, problem: Problem) -> bool:
        field = problem.location.field or ""
        return problem.code == "CHECK_002" and any(
            _is_within(field, known) or _is_within(known, field) for known in self.fields
        )


def _is_within(field: str, other: str) -> bool:
    return field == other or field.startswith((f"{other}.", f"{other}["))


def read_partly(source: SourceMap, value: Value, error: ValidationError, problems: list[Problem]) -> PartlyRead | None:
    """Return the project without the parts that are wrong; None when too much of it is."""
    fields = frozenset(problem.location.field or "" for problem in problems)
    for _ in range(MOST_ROUNDS):
        found = error.errors(include_url=False, include_input=False, include_context=False)
        if (
            not isinstance(value, dict)
            or not {"".join(map(str, details["loc"][:1])) for details in found} <= PARTS_APART
        ):
            return None
        value = _leave_out(value, [details["loc"] for details in found])
        try:
            model = Project.model_validate(value, by_alias=True, by_name=False)
        except ValidationError as again:
            error = again
            continue
        return PartlyRead(Definition("project", model, source, value), fields)
    return None


def _leave_out(value: dict[str, Any], places: list[tuple[int | str, ...]]) -> dict[str, Any]:
    checks = value.get("checks")
    entries = list(checks) if isinstance(checks, tuple) else None
    left = dict(value)
    for place in places:
        if place[0] == "checks" and entries is not None and len(place) > 1 and isinstance(place[1], int):
            entries[place[1]] = _mend(entries[place[1]], place[1], place[2:])
        else:
            left.pop(str(place[0]), None)
    if "checks" in left and entries is not None:
        left["checks"] = tuple(entries)
    return left


def _mend(check: Any, index: int, place: tuple[int | str, ...]) -> Any:
    """Return a check without what is wrong; its place in the list must stay."""
    stand_in = {"name": f"checks[{index}]", "output": 0, "value": "COUNT(*)"}
    if not isinstance(check, dict) or not place:
        return stand_in
    key = str(place[0])
    mended = {name: part for name, part in check.items() if name != key}
    return {**mended, key: stand_in[key]} if key in ("name", "output") else mended
