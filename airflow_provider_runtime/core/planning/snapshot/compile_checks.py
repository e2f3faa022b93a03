"""From the checks of a checked project to those of a plan: SQL text, limits, and what needs no look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_runtime.core.catalog.definition import format_path
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.restrict import restrict
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.spark_sql import compile_sql
from airflow_provider_runtime.core.expr.typed import split_conjunction
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedChange,
    CheckedCheck,
    CheckedProject,
    CheckedValue,
    Limit,
    Path,
)
from airflow_provider_runtime.core.planning.check.proofs import is_always_true, is_key_of_groups
from airflow_provider_runtime.core.planning.snapshot.compile import make_plan_mark
from spark_jobs.contract import checks as planned
from spark_jobs.contract.tables import Mark

_MERGES: Mapping[str, planned.Merge] = {
    "SUM": "sum",
    "COUNT": "sum",
    "COUNT_ALL": "sum",
    "MIN_AGG": "min",
    "MAX_AGG": "max",
}
"""How the values of parts make the value of all, by the aggregate that a value is."""


@dataclass(frozen=True, slots=True)
class CompiledChecks:
    """The plan's checks, the marks that their SQL names, and the tables that they read."""

    checks: tuple[planned.Check, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    used_tables: frozenset[str] = frozenset()


def compile_checks(
    checked: CheckedProject, *, run: RunConstants, baselines: Mapping[str, planned.Baseline] | None = None
) -> CompiledChecks:
    """Compile the checks of a project without errors; `baselines` are by the checks' names."""
    compiler = _Compiler(checked, run, baselines or {})
    checks = tuple(compiler.compile(check) for check in checked.checks)
    return CompiledChecks(checks, compiler.marks, frozenset(compiler.used))


@dataclass(slots=True)
class _Compiler:
    checked: CheckedProject
    run: RunConstants
    baselines: Mapping[str, planned.Baseline]
    marks: dict[str, Mark] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def compile(self, check: CheckedCheck) -> planned.Check:
        """Compile one check."""
        equals = check.equals
        return planned.Check(
            name=check.name,
            kind=check.kind,
            output=check.output,
            on_fail=check.on_fail,
            mark=self._mark(check.path),
            where=self._write(check.where, (*check.path, "where")),
            at_most=_make_limit(check.at_most),
            condition=self._write(check.rows, (*check.path, "rows")),
            shown=check.rows_text,
            not_null=_list_not_null(check.rows),
            unique=check.unique,
            columns=_list_columns(check),
            is_proven=self._is_proven(check),
            group_by=tuple(planned.GroupKey(name, data_type.ddl) for name, data_type in check.group_by),
            value=self._compile_value(check, check.value),
            equals=self._compile_value(check, equals) if isinstance(equals, CheckedValue) else None,
            constant=equals if isinstance(equals, str) else None,
            tolerance=_make_limit(check.tolerance),
            between=check.between or (),
            change=None if check.change is None else self._compile_change(check.name, check.change),
        )

    def _is_proven(self, check: CheckedCheck) -> bool:
        if check.rows is not None:
            return is_always_true(check.rows)
        output = next(operation for operation in self.checked.operations if operation.seq == check.output)
        return bool(check.unique) and is_key_of_groups(self.checked, output, check.unique, self.run)

    def _compile_value(self, check: CheckedCheck, value: CheckedValue | None) -> planned.CheckedValue | None:
        if value is None:
            return None
        if value.table is not None:
            self.used.add(value.table.key)
        is_restricted = value.where is not None and not check.group_by
        expression = restrict(value.value, value.where) if is_restricted and value.where else value.value
        # Totals of the input are observed, where they are kept as those of groups are.
        is_of_input = value.output is None and value.table is None
        sql = self._write(expression, value.path, is_total=not check.group_by and not is_of_input)
        assert sql is not None
        return planned.CheckedValue(
            sql=sql,
            type=value.value.type.ddl,
            shown=value.text,
            where=self._write(value.where, value.where_path),
            output=value.output,
            table=None if value.table is None else value.table.key,
            reads=_list_reads(value.value, value.where),
            counts_rows=value.value.node.op == "COUNT_ALL",
            merge=_MERGES.get(value.value.node.op),
        )

    def _compile_change(self, name: str, change: CheckedChange) -> planned.Change:
        return planned.Change(
            since=change.since,
            least=None if change.least is None else _make_limit(change.least),
            most=None if change.most is None else _make_limit(change.most),
            baseline=self.baselines.get(name),
        )

    def _write(self, expression: Checked | None, path: Path, *, is_total: bool = False) -> str | None:
        if expression is None:
            return None
        return compile_sql(expression, run=self.run, mark=self._mark(path), is_total=is_total)

    def _mark(self, path: Path) -> str:
        """Return the mark of a place, such as `checks[0].value`, and remember the place."""
        mark = format_path(path)
        place = self.checked.definition.locate(*path)
        self.marks[mark] = make_plan_mark(place, place.operation_seq)
        return mark


def _make_limit(limit: Limit) -> planned.Limit:
    return planned.Limit(limit.amount, limit.is_percent)


def _list_columns(check: CheckedCheck) -> tuple[str, ...]:
    """Return the columns that `rows` and `unique` read."""
    return tuple(dict.fromkeys((*check.unique, *_list_reads(check.rows), *_list_reads(check.where))))


def _list_reads(*expressions: Checked | None) -> tuple[str, ...]:
    found = [sorted(column for _, column in written.columns) for written in expressions if written is not None]
    return tuple(dict.fromkeys(column for columns in found for column in columns))


def _list_not_null(condition: Checked | None) -> tuple[str, ...]:
    """Return the columns that a condition asks not to be NULL, if it asks nothing else."""
    if condition is None:
        return ()
    parts = split_conjunction(condition.node)
    if not all(part.op == "is_null" and part.value and part.args[0].op == "column" for part in parts):
        return ()
    names = [part.args[0].value for part in parts]
    return tuple(dict.fromkeys(name[1] for name in names if isinstance(name, tuple)))
