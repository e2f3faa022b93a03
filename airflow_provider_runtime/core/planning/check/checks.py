"""Checks: each names an output, says what must be true of its rows, and may compare with values from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_runtime.core.catalog.lookup_conditions import make_relation
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.expr.checker import Checked, check_expression
from airflow_provider_runtime.core.expr.datatypes import NUMERIC, common_type
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.model.check import Check, ComparedValue
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.schema import DataType
from airflow_provider_runtime.core.planning.check.check_limits import COMPARED_KINDS, LimitReader
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedCheck,
    CheckedOperation,
    CheckedValue,
    Path,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.context import (
    ProjectContext,
    drop_followers,
    make_table_use,
)
from airflow_provider_runtime.core.planning.check.names import read_column_reference, suggest_column
from airflow_provider_runtime.core.planning.check.output import list_hidden_columns
from airflow_provider_runtime.core.planning.check.wording import Wording
from airflow_provider_runtime.core.planning.check.working import WorkingSchema
from airflow_provider_runtime.core.suggest import suggest

KINDS = ("rows", "unique", "value")
COMPARISONS = ("equals", "between", "change")
BELONGS = {
    "at_most": ("rows", "unique"),
    "group_by": ("value",),
    "equals": ("value",),
    "between": ("value",),
    "change": ("value",),
    "tolerance": ("equals",),
}
"""Keys that mean something beside certain others only."""


def name_key_check(seq: int) -> str:
    """Return the name of the check that an output's key makes."""
    return f"key of output {seq}"


def list_check_names(project: Project) -> list[str]:
    """Return the names of a project's checks, those that keys of outputs make included."""
    outputs = [operation for operation in project.operations if isinstance(operation, OutputOperation)]
    keys = [name_key_check(output.seq) for output in outputs if output.arguments.key]
    return [*keys, *(check.name for check in project.checks)]


def find_override_problem(project: Project, name: str) -> Problem | None:
    """Return why a check cannot be overridden, if it cannot."""
    names = list_check_names(project)
    if name not in names:
        hint = suggest(name, names) or "the project has no checks"
        return Problem("CHECK_002", f"project '{project.name}' has no check '{name}'", hint)
    totals = {
        check.name
        for check in project.checks
        if check.value is not None and not check.model_fields_set & {*COMPARISONS}
    }
    if name in totals:
        return Problem("CHECK_002", f"check '{name}' is a control total, which cannot fail", "leave it as it is")
    return None


def check_checks(
    project: ProjectContext, operations: Sequence[CheckedOperation], source: TableUse
) -> tuple[CheckedCheck, ...]:
    """Check the keys of outputs and the project's checks; those with mistakes are left out."""
    outputs = {found.seq: found for found in operations if isinstance(found.operation, OutputOperation)}
    keys = [
        CheckedCheck(
            name_key_check(found.seq),
            "unique",
            found.seq,
            "block",
            ("operations", found.index, "arguments", "key"),
            unique=found.key,
        )
        for found in outputs.values()
        if found.key
    ]
    _check_names(project, [check.name for check in keys])
    checkers = (
        _CheckChecker(project, outputs, source, check, ("checks", index))
        for index, check in enumerate(project.definition.model.checks)
    )
    return (*keys, *(found for checker in checkers if (found := checker.check_all()) is not None))


def _check_names(project: ProjectContext, taken: Iterable[str]) -> None:
    seen = set(taken)
    for index, check in enumerate(project.definition.model.checks):
        if check.name in seen:
            place = project.definition.locate("checks", index, "name")
            hint = "results and overrides go by the name: choose another one"
            message = f"the name '{check.name}' is used by two checks"
            project.problems.append(Problem("CHECK_002", message, hint, place))
        seen.add(check.name)


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows that a value is of: their columns, and those that a mistake hides."""

    relation: Relation
    hidden: frozenset[str] = frozenset()
    output: int | None = None
    table: TableUse | None = None


@dataclass(slots=True)
class _CheckChecker:
    project: ProjectContext
    outputs: Mapping[int, CheckedOperation]
    source: TableUse
    check: Check
    path: Path
    failed: bool = False

    @property
    def limits(self) -> LimitReader:
        """Reads what the rows and values are held to."""
        return LimitReader(self.check, self.path, self._report)

    def check_all(self) -> CheckedCheck | None:
        """Check everything; None when there is a mistake."""
        self._check_keys()
        side = self._find_output(self.check.output, (*self.path, "output"))
        if side is None:
            self._check_rest_without_output()
            return None
        where = self._check_where(self.check.where, side, (*self.path, "where"))
        kinds = [kind for kind in KINDS if getattr(self.check, kind) is not None]
        made = [getattr(self, f"_check_{kind}")(side, where) for kind in kinds]
        return made[0] if len(made) == 1 and not self.failed else None

    def _report(self, message: str, path: Path, hint: str | None = None, code: Code = "CHECK_002") -> None:
        self.failed = True
        place = self.project.definition.locate(*path)
        self.project.problems.append(Problem(code, message, hint, place))

    def _check_keys(self) -> None:
        """Report keys that are missing, that exclude each other, or that mean nothing beside the others."""
        given = self.check.model_fields_set
        kinds = [kind for kind in KINDS if kind in given]
        if len(kinds) != 1:
            found = "found none" if not kinds else f"found {' and '.join(kinds)}"
            self._report(
                f"a check has exactly one of rows, unique and value, {found}",
                self._place(kinds),
                "make them checks of their own" if kinds else "add one of them",
            )
        compared = [key for key in COMPARISONS if key in given]
        if len(compared) > 1:
            message = f"a value has at most one of equals, between and change, found {' and '.join(compared)}"
            self._report(message, (*self.path, compared[1]), "make them checks of their own")
        for key, beside in BELONGS.items():
            if key in given and kinds and not given & {*beside}:
                message = f"{key} belongs to {' or '.join(beside)}"
                self._report(message, (*self.path, key), f"remove it, or add {beside[0]}")
        for key in (*kinds, *compared):
            if getattr(self.check, key) is None:
                self._report(f"{key} is empty", (*self.path, key), "write what it must be, or remove the key")

    def _place(self, kinds: Sequence[str]) -> Path:
        return (*self.path, kinds[1]) if len(kinds) > 1 else self.path

    def _check_rest_without_output(self) -> None:
        """Check what can be checked without the rows: limits, and the dataset that is compared with."""
        self.limits.read_at_most()
        equals = self.check.equals
        if isinstance(equals, ComparedValue):
            self._find_compared(equals, (*self.path, "equals"))

    # Rows

    def _find_output(self, seq: int, path: Path) -> _Side | None:
        found = self.outputs.get(seq)
        if found is None:
            is_other = any(operation.seq == seq for operation in self.project.definition.model.operations)
            message = f"operation {seq} is not an output" if is_other else f"unknown output {seq}"
            known = ", ".join(str(number) for number in self.outputs)
            self._report(message, path, f"outputs are: {known}" if known else "the project has no output")
            return None
        assert isinstance(found.operation, OutputOperation)
        columns = {column.name: ScopeColumn(column.type, column.nullable) for column in found.output_columns}
        hidden = list_hidden_columns(self.project.working, found.operation)
        return _Side(Relation(self.source.table.name, "working", columns), frozenset(hidden), output=seq)

    def _find_compared(self, other: ComparedValue, path: Path) -> _Side | None:
        """Return the rows that the other side is of, after checking that it names one and its expression."""
        named = [key for key in ("input", "output", "dataset_id") if key in other.model_fields_set]
        if len(named) != 1:
            found = "found none" if not named else f"found {' and '.join(named)}"
            self._report(
                f"equals has exactly one of input, output and dataset_id, {found}",
                path,
                "for example {input: SUM(amount)}",
            )
            return None
        if other.input is not None and other.value is not None:
            self._report("input holds the expression itself", (*path, "value"), "remove value")
        if other.input is None and other.value is None:
            self._report("the value to compare with is missing", path, "add 'value: …', an aggregate expression")
        if other.dataset_version is not None and other.dataset_id is None:
            self._report("dataset_version belongs to dataset_id", (*path, "dataset_version"), "remove it")
        if other.input is not None:
            columns = WorkingSchema.start(self.source.table).columns
            relation = {column.name: ScopeColumn(column.type, column.nullable) for column in columns}
            return _Side(Relation(self.source.table.name, "working", relation))
        if other.output is not None:
            return self._find_output(other.output, (*path, "output"))
        return self._find_dataset(other, path) if other.dataset_id is not None else None

    def _find_dataset(self, other: ComparedValue, path: Path) -> _Side | None:
        assert other.dataset_id is not None
        answer = self.project.find_dataset(other.dataset_id, other.dataset_version)
        if answer.definition is None:
            missing = answer.describe("dataset", other.dataset_id, other.dataset_version)
            self.failed = True
            if missing is not None:
                self._report(missing[1], (*path, answer.key), answer.hint, missing[0])
            return None
        place = self.project.definition.locate(*path, "dataset_id")
        use = make_table_use(answer.definition, "check", other.dataset_id, place, pinned=other.dataset_version)
        use = replace(use, key=f"check:{self.path[1]}", alias=self.check.name, operation_seq=self.check.output)
        self.project.tables.append(use)
        return _Side(make_relation(use.table.name, "source", use.table), table=use)

    # Expressions

    def _check_text(
        self, text: str, side: _Side, path: Path, *, boolean: bool = False, aggregate: bool = False
    ) -> Checked | None:
        result = check_expression(text, Scope(side.relation), aggregate=aggregate, expect_boolean=boolean)
        for problem in drop_followers(result.problems):
            self.failed = True
            if problem.kind == "unknown_column" and problem.column in side.hidden:
                continue
            code, message = Wording().translate(problem)
            place = self.project.definition.locate_span(path, problem.start, problem.end)
            hint = problem.hint
            if problem.kind == "unknown_table":
                hint = "a check sees the columns of these rows only, joined and looked up ones not"
            self.project.problems.append(Problem(code, message, hint, place))
        return None if result.problems else result.expression

    def _check_where(self, text: str | None, side: _Side, path: Path) -> Checked | None:
        return None if text is None else self._check_text(text, side, path, boolean=True)

    def _check_columns(self, texts: Iterable[str], side: _Side, path: Path) -> tuple[str, ...]:
        """Return the columns of a list that the rows have, each once."""
        found: list[str] = []
        for position, text in enumerate(texts):
            name = read_column_reference(text, side.relation.name)
            place: Path = (*path, position)
            if name in found:
                self._report(f"column '{text}' is listed twice in {path[-1]}", place, "leave one of them out")
            elif name in side.relation.columns:
                found.append(name)
            else:
                self.failed = True
                if name not in side.hidden:
                    hint = suggest_column(name, list(side.relation.columns))
                    self._report(f"unknown column '{text}' in {path[-1]}", place, hint, "EXPR_002")
        return tuple(found)

    # Kinds

    def _make(self, kind: str, **parts: object) -> CheckedCheck:
        check = self.check
        return CheckedCheck(check.name, kind, check.output, check.on_fail, self.path, **parts)  # type: ignore[arg-type]

    def _check_rows(self, side: _Side, where: Checked | None) -> CheckedCheck:
        assert self.check.rows is not None
        condition = self._check_text(self.check.rows, side, (*self.path, "rows"), boolean=True)
        return self._make(
            "rows", rows=condition, rows_text=self.check.rows, where=where, at_most=self.limits.read_at_most()
        )

    def _check_unique(self, side: _Side, where: Checked | None) -> CheckedCheck:
        assert self.check.unique is not None
        path: Path = (*self.path, "unique")
        if not self.check.unique:
            self._report("unique needs at least one column", path, "name the columns that identify a row")
        columns = self._check_columns(self.check.unique, side, path)
        return self._make("unique", unique=columns, where=where, at_most=self.limits.read_at_most())

    def _check_value(self, side: _Side, where: Checked | None) -> CheckedCheck:
        check, path = self.check, self.path
        assert check.value is not None
        groups = self._check_columns(check.group_by, side, (*path, "group_by"))
        types = {name: side.relation.columns[name].type for name in groups}
        value = self._check_text(check.value, side, (*path, "value"), aggregate=True)
        equals = check.equals
        other = self._check_other(equals, types, value) if isinstance(equals, ComparedValue) else None
        if value is None:
            return self._make("value")
        left = CheckedValue(value, check.value, (*path, "value"), where, (*path, "where"), output=check.output)
        parts: dict[str, object] = {"value": left, "group_by": tuple(types.items())}
        is_compared = bool(check.model_fields_set & {*COMPARISONS})
        if is_compared and self.limits.check_kind(value.type, (*path, "value"), COMPARED_KINDS):
            parts["equals"] = (
                self.limits.read_constant(equals, value.type, (*path, "equals")) if isinstance(equals, str) else other
            )
            parts["tolerance"] = self.limits.read_tolerance(value.type)
            parts["between"] = self.limits.read_between(value.type)
            parts["change"] = self.limits.read_change(check.change, value.type)
        return self._make("value", **parts)

    def _check_other(
        self, other: ComparedValue, types: dict[str, DataType], value: Checked | None
    ) -> CheckedValue | None:
        """Check the other side of `equals`; widen the types of the grouping columns to what holds those of both."""
        path: Path = (*self.path, "equals")
        side = self._find_compared(other, path)
        text, name = (other.input, "input") if other.input is not None else (other.value, "value")
        if side is None or text is None:
            return None
        where = self._check_where(other.where, side, (*path, "where"))
        for column, data_type in types.items():
            self._meet_group(column, data_type, side, types, path)
        checked = self._check_text(text, side, (*path, name), aggregate=True)
        if checked is None:
            return None
        if self.limits.check_kind(checked.type, (*path, name), COMPARED_KINDS) and value is not None:
            self._check_alike(value.type, checked.type, (*path, name))
        return CheckedValue(checked, text, (*path, name), where, (*path, "where"), side.output, side.table)

    def _meet_group(
        self, column: str, data_type: DataType, side: _Side, types: dict[str, DataType], path: Path
    ) -> None:
        found = side.relation.columns.get(column)
        if found is None:
            self.failed = True
            if column not in side.hidden:
                message = (
                    f"unknown column '{column}': both sides are grouped by it, and the other side does not have it"
                )
                self._report(message, path, suggest(column, side.relation.columns), "EXPR_002")
            return
        met = common_type(data_type, found.type)
        if met is None or (data_type.kind != found.type.kind and data_type.kind not in NUMERIC):
            message = f"column '{column}' is {data_type} here and {found.type} on the other side of equals"
            self._report(message, path, "group by columns of one type", "EXPR_004")
        else:
            types[column] = met

    def _check_alike(self, first: DataType, second: DataType, path: Path) -> None:
        if first.kind != second.kind and not {first.kind, second.kind} <= NUMERIC:
            message = f"a value of type {first} cannot be equal to one of type {second}"
            self._report(message, path, "compare numbers with numbers, dates with dates, texts with texts", "EXPR_004")
