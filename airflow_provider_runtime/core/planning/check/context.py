"""What a checker of one operation works with: the schema so far, the scope of names, and a place for problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Code, Place, Problem
from airflow_provider_runtime.core.expr.checker import Checked, check_expression
from airflow_provider_runtime.core.expr.datatypes import is_assignable
from airflow_provider_runtime.core.expr.problems import ExpressionProblem
from airflow_provider_runtime.core.expr.scope import Relation, Scope
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.operation import Operation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.schema import DataType
from airflow_provider_runtime.core.planning.check.checked import CheckedJoin, Path, Role, TableUse
from airflow_provider_runtime.core.planning.check.datasets import DatasetAnswer
from airflow_provider_runtime.core.planning.check.wording import SELECTOR, Wording
from airflow_provider_runtime.core.planning.check.working import WorkingSchema
from airflow_provider_runtime.core.planning.resolve.overlaps import WrittenDestinations

_SELECTOR_USE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class LookupUse:
    """A lookup of the input dataset: its columns, and its condition once that is checked."""

    relation: Relation
    join: CheckedJoin | None


@dataclass(slots=True)
class ProjectContext:
    """What all operations of a project share during one pass."""

    catalog: Catalog
    definition: Definition[Project]
    working: WorkingSchema
    find_dataset: Callable[[str, int | None], DatasetAnswer]
    lookups: dict[str, LookupUse] = field(default_factory=dict)
    unknown_aliases: frozenset[str] = frozenset()
    depends_on_broken: bool = False
    problems: list[Problem] = field(default_factory=list)
    tables: list[TableUse] = field(default_factory=list)
    used_selectors: set[str] = field(default_factory=set)
    written: WrittenDestinations = field(default_factory=WrittenDestinations)
    """Where the outputs so far go."""
    registered: dict[str, int] = field(default_factory=dict)
    """The outputs' seq by the name that they register."""
    _reported: set[tuple[str, str, int, int]] = field(default_factory=set)

    def report_in_selector(self, problem: ExpressionProblem, code: Code, message: str, seq: int | None) -> None:
        """Report a mistake inside a named selector's text, once however often it is used."""
        name = problem.selector or ""
        key = (name, problem.message, problem.start, problem.end)
        if key in self._reported:
            return
        self._reported.add(key)
        place = self.definition.locate_span(("selectors", name), problem.start, problem.end)
        place = replace(place, operation_seq=seq)
        self.problems.append(Problem(code, message, problem.hint, place))


@dataclass(slots=True)
class OperationContext:
    """One operation and the project around it."""

    project: ProjectContext
    operation: Operation
    index: int

    @property
    def working(self) -> WorkingSchema:
        """The schema before this operation."""
        return self.project.working

    @property
    def catalog(self) -> Catalog:
        """The catalog that references are looked up in."""
        return self.project.catalog

    def locate(self, path: Path) -> Place:
        """Return the place of a value of this operation."""
        return self.project.definition.locate("operations", self.index, *path)

    def report(self, code: Code, message: str, path: Path, hint: str | None = None) -> None:
        """Report a problem at a value of this operation."""
        self.project.problems.append(Problem(code, message, hint, self.locate(path)))

    def make_scope(self, joins: Iterable[Relation] = ()) -> Scope:
        """Return the names that expressions of this operation may use."""
        aliases = {alias: lookup.relation for alias, lookup in self.project.lookups.items()}
        aliases |= {relation.name: relation for relation in joins}
        return Scope(self.working.relation, aliases, self.project.definition.model.selectors)

    def check_selector(self, text: str | None, scope: Scope, unknown_aliases: frozenset[str]) -> Checked | None:
        """Check the operation's own selector."""
        if text is None:
            return None
        return self.check(text, ("selector",), scope, SELECTOR, boolean=True, unknown_aliases=unknown_aliases)

    def check(
        self,
        text: str,
        path: Path,
        scope: Scope,
        wording: Wording,
        *,
        boolean: bool = False,
        aggregate: bool = False,
        unknown_aliases: frozenset[str] = frozenset(),
        poisoned: set[str] | None = None,
    ) -> Checked | None:
        """Check an expression and report its problems; None when it has any, or depends on something unknown."""
        if wording.allows_selectors:
            self.note_selectors(text)
        else:
            scope = replace(scope, selectors={})
        result = check_expression(text, scope, aggregate=aggregate, expect_boolean=boolean)
        silent = unknown_aliases | self.project.unknown_aliases
        hidden = self.working.poisoned if poisoned is None else poisoned
        for problem in drop_followers(result.problems):
            if not _depends_on_unknown(problem, scope, silent, hidden):
                self._report_expression(problem, path, wording)
        return None if result.problems else result.expression

    def note_selectors(self, text: str) -> None:
        """Remember the named selectors that a text uses."""
        self.project.used_selectors.update(_SELECTOR_USE.findall(text))

    def _report_expression(self, problem: ExpressionProblem, path: Path, wording: Wording) -> None:
        code, message = wording.translate(problem)
        if problem.selector is not None:
            self.project.report_in_selector(problem, code, message, self.operation.seq)
            return
        full: Path = ("operations", self.index, *path)
        place = self.project.definition.locate_span(full, problem.start, problem.end)
        self.project.problems.append(Problem(code, message, problem.hint, place))

    def check_assignable(self, checked: Checked, column: str, target: DataType, path: Path, prefix: str = "") -> bool:
        """Report EXPR_004 when a value may not be put into a column of this type."""
        if is_assignable(checked.type, target):
            return True
        message = f"{prefix}cannot put {checked.type} into column '{column}' of type {target}"
        self.report("EXPR_004", message, path, "only the same type, numbers to numbers, and date to timestamp fit")
        return False

    def add_table(self, use: TableUse) -> TableUse:
        """Remember a table that the project reads."""
        self.project.tables.append(use)
        return use


def make_table_use(
    definition: Definition[Dataset],
    role: Role,
    reference: str,
    location: Place,
    *,
    seq: int | None = None,
    alias: str | None = None,
    pinned: int | None = None,
    table: Table | None = None,
) -> TableUse:
    """Return a table use with its key: input, lookup:<alias>, join:<seq>:<alias> or append:<seq>."""
    key = ":".join([role, *([] if seq is None else [str(seq)]), *([] if alias is None else [alias])])
    return TableUse(
        key, role, seq, alias, reference, pinned, definition, table or definition.model.main_table, location
    )


def _depends_on_unknown(
    problem: ExpressionProblem, scope: Scope, unknown_aliases: frozenset[str], poisoned: set[str]
) -> bool:
    """Whether a problem only repeats a mistake that has been reported where it was made."""
    if problem.kind == "unknown_table":
        return problem.table in unknown_aliases
    if problem.kind == "unknown_column":
        return problem.table in (None, scope.working.name) and problem.column in poisoned
    return False


def drop_followers(problems: tuple[ExpressionProblem, ...]) -> list[ExpressionProblem]:
    """Drop the report of columns outside an aggregate function when the function around them is unknown."""
    unknown = [problem for problem in problems if problem.kind == "unknown_function"]
    return [
        problem
        for problem in problems
        if problem.kind != "aggregate"
        or not any(other.start <= problem.start and problem.end <= other.end for other in unknown)
    ]


def uses_of(lookups: Mapping[str, LookupUse], checked: Iterable[Checked | None]) -> tuple[CheckedJoin, ...]:
    """Return the lookups that expressions use, in the dataset's order."""
    used = frozenset().union(*(expression.aliases for expression in checked if expression is not None))
    return tuple(lookup.join for alias, lookup in lookups.items() if alias in used and lookup.join is not None)
