"""Update: joins, then a selector and assignments that may use their aliases."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.catalog.lookup_conditions import make_relation
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.datatypes import explain_no_common_type
from airflow_provider_runtime.core.expr.scope import Relation, Scope
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.operation import Assignment, RuntimeJoin, UpdateOperation
from airflow_provider_runtime.core.model.schema import DataType
from airflow_provider_runtime.core.planning.check.amounts import read_constant
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedExpression,
    CheckedJoin,
    CheckedOperation,
    Path,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.context import (
    OperationContext,
    make_table_use,
    uses_of,
)
from airflow_provider_runtime.core.planning.check.join_day import find_join_day, hold_on
from airflow_provider_runtime.core.planning.check.names import check_alias, check_target
from airflow_provider_runtime.core.planning.check.wording import JOIN_CONDITION, make_assignment_wording
from airflow_provider_runtime.core.planning.check.working import Contribution
from airflow_provider_runtime.core.suggest import suggest
from spark_jobs.contract.problems import shorten


def check_update(context: OperationContext) -> CheckedOperation:
    """Check an update and add the columns that it makes."""
    operation = context.operation
    assert isinstance(operation, UpdateOperation)
    joins = _JoinChecks(context)
    for position, join in enumerate(operation.arguments.joins):
        joins.add(join, position)
    scope, unknown = joins.scope, frozenset(joins.unknown)
    where = context.check_selector(operation.selector, scope, unknown)
    assignments = _check_assignments(context, operation, scope, unknown)
    expressions = _put_assignments(context, assignments)
    checked = [where, *(join.condition for join in joins.checked), *(item.checked for item in expressions)]
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        joins=(*uses_of(context.project.lookups, checked), *joins.checked),
        expressions=tuple(expressions),
    )


class _JoinChecks:
    """The joins of one update, in order; each sees the aliases before it and its own."""

    def __init__(self, context: OperationContext) -> None:
        self.context = context
        self.relations: list[Relation] = []
        self.checked: list[CheckedJoin] = []
        self.unknown: set[str] = set()
        self.seen: dict[str, str] = {}

    @property
    def scope(self) -> Scope:
        """The names that are known after the joins so far."""
        return self.context.make_scope(self.relations)

    def add(self, join: RuntimeJoin, position: int) -> None:
        """Check one join and let the following expressions see its alias."""
        path: Path = ("arguments", "joins", position)
        is_free = check_alias(self.context, join.alias, (*path, "alias"), self.seen)
        use = self._find_table(join, path)
        if use is None or not is_free:
            self._add_faulty(join, use, path, is_free=is_free)
            return
        relation = make_relation(join.alias, "join", use.table)
        self.relations.append(relation)
        day = find_join_day(self.context, join, use.table, path)
        use = self.context.add_table(replace(use, as_of=day.as_of))
        condition = self._check_condition(join, path)
        if condition is not None:
            if day.expression is not None:
                condition = hold_on(condition, join.alias, use.table, day.expression)
            defaults = self._check_defaults(join, relation, path)
            self.checked.append(CheckedJoin(join.alias, use, condition, (*path, "on"), join.required, defaults))

    def _add_faulty(self, join: RuntimeJoin, use: TableUse | None, path: Path, *, is_free: bool) -> None:
        """Check what can be checked of a join without a dataset, or with an alias that is taken."""
        if use is not None:
            self.context.add_table(use)
        if is_free:
            self.unknown.add(join.alias)
            self._check_condition(join, path)

    def _check_condition(self, join: RuntimeJoin, path: Path) -> Checked | None:
        unknown = frozenset(self.unknown)
        return self.context.check(
            join.on, (*path, "on"), self.scope, JOIN_CONDITION, boolean=True, unknown_aliases=unknown
        )

    def _check_defaults(self, join: RuntimeJoin, relation: Relation, path: Path) -> dict[str, Typed]:
        """Return the constants for rows without a match, each of its column's type."""
        if join.required and join.default:
            message = f"join '{join.alias}' is required: no row is without a match, so nothing can have a default"
            self.context.report("CATALOG_002", message, (*path, "default"), "leave out `required` or `default`")
            return {}
        found: dict[str, Typed] = {}
        for column, text in join.default.items():
            place: Path = (*path, "default", column)
            if column not in relation.columns:
                message = f"unknown column '{join.alias}.{column}' in the defaults of a join"
                self.context.report("EXPR_002", message, place, suggest(column, relation.columns))
                continue
            data_type = relation.columns[column].type
            value = None if text is None else read_constant(text, data_type)
            if value is None and text is not None:
                message = f"'{shorten(text, 80)}' is not a value of column '{join.alias}.{column}' of type {data_type}"
                self.context.report("EXPR_004", message, place, "write a value that the column's type holds exactly")
                continue
            found[column] = Typed("literal", data_type, value is None, (), value)
        return found

    def _find_table(self, join: RuntimeJoin, path: Path) -> TableUse | None:
        answer = self.context.project.find_dataset(join.dataset_id, join.dataset_version)
        if answer.definition is None:
            missing = answer.describe("join", join.dataset_id, join.dataset_version)
            if missing is not None:
                self.context.report(*missing, (*path, answer.key), answer.hint)
            return None
        place = self.context.locate((*path, "dataset_id"))
        return make_table_use(
            answer.definition,
            "join",
            join.dataset_id,
            place,
            seq=self.context.operation.seq,
            alias=join.alias,
            pinned=join.dataset_version,
        )


def _check_assignments(
    context: OperationContext, operation: UpdateOperation, scope: Scope, unknown: frozenset[str]
) -> list[tuple[Assignment, int, Checked | None]]:
    """Check columns and expressions; all see the schema before the operation."""
    if not operation.arguments.assignments:
        named = [key for key in ("assignments",) if key in operation.arguments.model_fields_set]
        hint = "add one to `assignments`, such as {column: …, expression: …}"
        message = "Update operation requires at least one assignment"
        context.report("UPDATE_001", message, ("arguments", *named), hint)
    aliases = frozenset(scope.aliases) - frozenset(context.project.lookups)
    seen: set[str] = set()
    lowered: dict[str, str] = {}
    found = []
    for position, assignment in enumerate(operation.arguments.assignments):
        path: Path = ("arguments", "assignments", position)
        is_good = check_target(context, assignment.column, seen, lowered, (*path, "column"))
        seen.add(assignment.column)
        lowered.setdefault(assignment.column.lower(), assignment.column)
        wording = make_assignment_wording(assignment.column, aliases)
        names = replace(scope, allows_groups=True)
        checked = context.check(assignment.expression, (*path, "expression"), names, wording, unknown_aliases=unknown)
        if is_good:
            found.append((assignment, position, checked))
    return found


def _put_assignments(
    context: OperationContext, assignments: list[tuple[Assignment, int, Checked | None]]
) -> list[CheckedExpression]:
    """Put the checked values into their columns, and give new columns their types."""
    working = context.working
    before = {name: working.find(name) for name in (assignment.column for assignment, _, _ in assignments)}
    added_before = frozenset(working.added)
    expressions: list[CheckedExpression] = []
    for assignment, position, checked in assignments:
        path: Path = ("arguments", "assignments", position, "expression")
        present = before[assignment.column]
        if checked is None:
            working.poison(assignment.column)
            continue
        prefix = f"Invalid assignment expression for '{assignment.column}': "
        target: DataType | None
        if present is not None and present.origin != "added":
            ok = context.check_assignable(checked, assignment.column, present.type, path, prefix)
            target = present.type if ok else None
        else:
            target = put_added(context, assignment.column, checked, added_before, path, prefix)
        if target is not None:
            expressions.append(CheckedExpression(assignment.column, target, checked, path))
    working.fill({item.column: item.checked.nullable for item in expressions}, others_null=False)
    return expressions


def put_added(
    context: OperationContext, column: str, checked: Checked, added_before: frozenset[str], path: Path, prefix: str = ""
) -> DataType | None:
    """Put a value into a column that operations add, and return the column's type so far."""
    present = context.working.added.get(column)
    if not context.working.contribute(column, make_contribution(context, checked, added_before, path)):
        if column in context.working.conflicts:
            return None
        context.working.conflicts.add(column)
        known = present.type if present is not None else context.working.settled.types[column]
        message, hint = explain_no_common_type(known, checked.type)
        message = f"{prefix}no type holds everything that is put into the added column '{column}': {message}"
        context.report("EXPR_004", message, path, hint or "give the column one type in all operations")
        return None
    return context.working.added[column].type


def make_contribution(
    context: OperationContext, checked: Checked, added_before: frozenset[str], path: Path
) -> Contribution:
    """Return what a value says of the type of the added column that it is put into."""
    reads = frozenset(name for alias, name in checked.columns if alias is None and name in added_before)
    return Contribution(checked.type, reads, context.index, path)
