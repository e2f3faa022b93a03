"""The day on which the rows of a joined bitemporal table must be valid: one for all rows, or each row's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.scope import Scope
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.base import read_as_date
from airflow_provider_runtime.core.model.dataset import Table, list_temporal_columns
from airflow_provider_runtime.core.model.operation import RuntimeJoin
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE
from airflow_provider_runtime.core.planning.check.checked import AsOf, Path
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.planning.check.wording import JOIN_DAY

_DAY = re.compile(r"[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{1,4}")
_Word = Literal["period_start", "period_end"]


@dataclass(frozen=True, slots=True)
class JoinDay:
    """The day of a join; with an expression, rows of every day are read and each row has its own."""

    as_of: AsOf = None
    expression: Checked | None = None


def find_join_day(context: OperationContext, join: RuntimeJoin, table: Table, path: Path) -> JoinDay:
    """Return the day that a join's `as_of` names, and report what is wrong with it."""
    if join.as_of is None:
        return JoinDay()
    place: Path = (*path, "as_of")
    if table.temporal_mode != "bitemporal":
        message = f"join '{join.alias}' has as_of, and table '{table.name}' is not bitemporal"
        context.report("CATALOG_002", message, place, "leave it out: as_of chooses between rows that hold at some time")
        return JoinDay()
    for word in get_args(_Word):
        if join.as_of == word:
            return JoinDay(word)
    if _DAY.fullmatch(join.as_of):
        try:
            return JoinDay(read_as_date(join.as_of))
        except ValueError as error:
            context.report("CATALOG_002", str(error), place, "write an existing day as YYYY-MM-DD")
            return JoinDay()
    scope = Scope(context.working.relation, {}, {})
    checked = context.check(join.as_of, place, scope, JOIN_DAY)
    if checked is None:
        return JoinDay()
    if checked.type.kind not in ("date", "null"):
        message = f"as_of of join '{join.alias}' must be a date, this is {checked.type}"
        hint = "write period_start, period_end, a day as YYYY-MM-DD, or an expression that gives a date"
        context.report("EXPR_004", message, place, hint)
        return JoinDay()
    return JoinDay("every_day", checked)


def hold_on(condition: Checked, alias: str, table: Table, day: Checked) -> Checked:
    """Return a join's condition, and that the joined row is valid on a day."""
    names = [(alias, name) for name, _ in list_temporal_columns(table)]
    begin, end = (Typed("column", DATE, True, (), name) for name in names)
    node = Typed(
        "and",
        BOOLEAN,
        True,
        (
            condition.node,
            Typed("compare", BOOLEAN, True, (begin, day.node), "<="),
            Typed(
                "or",
                BOOLEAN,
                True,
                (
                    Typed("is_null", BOOLEAN, False, (end,), False),
                    Typed("compare", BOOLEAN, True, (end, day.node), ">"),
                ),
            ),
        ),
    )
    columns = condition.columns | day.columns | {*names}
    return Checked(node, BOOLEAN, True, columns, condition.aliases | {alias}, False, condition.selectors)
