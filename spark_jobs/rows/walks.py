"""Which rows a replay takes through the operations, and how early the others can be left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spark_jobs.contract.operations import (
    MAX_SEQ,
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    UpdateOperation,
)
from spark_jobs.contract.sql import WORKING, quote_text
from spark_jobs.contract.why import Condition

if TYPE_CHECKING:
    from spark_jobs.contract.plan import Plan
    from spark_jobs.rows.working import Part

END = MAX_SEQ + 1


@dataclass(frozen=True, slots=True)
class Walk:
    """Which rows are taken through the operations before `end`."""

    end: int = END
    conditions: tuple[Condition, ...] = ()
    row_ids: tuple[str, ...] | None = None
    origins: frozenset[int] | None = None
    """Origins of the rows; None: any."""
    traced: bool = False

    @property
    def every_condition(self) -> tuple[Condition, ...]:
        """All conditions, the ids among them."""
        if self.row_ids is None:
            return self.conditions
        ids = ", ".join(map(quote_text, self.row_ids)) or "NULL"
        return (*self.conditions, Condition(f"`@w`.`_row_id` IN ({ids})", frozenset({"_row_id"})))


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Which conditions of a walk may be put where a plan makes rows, and not only at the end."""

    plan: Plan

    def is_restricted(self, walk: Walk) -> bool:
        """Return whether all conditions hold where rows are made, so that few rows are taken along."""
        made = {operation.seq for operation in self.plan.operations if _makes_rows(operation)}
        origins = {0, *made} if walk.origins is None else walk.origins
        return all(self._holds_from(walk, origin) for origin in origins)

    def _holds_from(self, walk: Walk, origin: int) -> bool:
        since = max(origin, self.find_last_group(walk))
        columns = frozenset(column.name for column in self.plan.columns)
        if origin == 0:
            later = {column.name for each in self.plan.operations if each.seq > since for column in each.adds}
            columns -= later
        return len(self.pick_fixed(walk, frozenset({origin}), since, columns)) == len(walk.every_condition)

    def pick_fixed(self, walk: Walk, origins: frozenset[int], since: int, columns: frozenset[str]) -> list[Condition]:
        """Return the conditions that hold at the end of the walk for the rows for which they hold now."""
        if since < self.find_last_group(walk):
            # Values over groups need all rows of the groups.
            return []
        changed = set[str]()
        for operation in self.plan.operations:
            if since < operation.seq < walk.end and operation.may_touch(origins):
                changed.update(list_changed(operation))
        return [
            condition
            for condition in walk.every_condition
            if condition.columns <= columns and not condition.columns & changed
        ]

    def find_last_group(self, walk: Walk) -> int:
        """Return the seq of the last operation of a walk with values over groups, -1 if there is none."""
        return max(
            (
                operation.seq
                for operation in self.plan.operations
                if isinstance(operation, UpdateOperation) and operation.group_steps and operation.seq < walk.end
            ),
            default=-1,
        )

    def restrict(self, walk: Walk, part: Part, since: int) -> Part:
        """Return the rows of a part that may be asked for, after the operation `since`."""
        frame = part.frame
        if since >= self.find_last_group(walk) and walk.origins is not None and not part.origins & walk.origins:
            return replace(part, frame=frame.where("FALSE"))
        for condition in self.pick_fixed(walk, part.origins, since, part.columns):
            frame = frame.alias(WORKING).where(condition.sql)
        return replace(part, frame=frame)


def list_changed(operation: AnyOperation) -> tuple[str, ...]:
    """Return the columns that an operation changes in the rows that it touches."""
    if isinstance(operation, UpdateOperation):
        return (*(item.column for item in operation.assignments), "_updated_at")
    return ("_deleted", "_updated_at") if isinstance(operation, DeleteOperation) else ()


def _makes_rows(operation: AnyOperation) -> bool:
    return isinstance(operation, AggregateOperation | AppendOperation)
