"""Datasets: columns that can live together, lookups that lead somewhere and not back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.dataset import Dataset, DatasetTarget, Lookup, Table
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.model.schema import (
    DATE,
    STRING,
    SYSTEM_COLUMN_NAMES,
    SYSTEM_COLUMN_TYPES,
    TEMPORAL_COLUMN_NAMES,
    DataType,
)
from airflow_provider_runtime.core.suggest import suggest

Version = tuple[str, int]
Step = tuple[Definition[Dataset], int]
"""A dataset, and the position of one of its lookups."""
MOST_CIRCLES = 100
"""Circles of lookups that are told."""
ACTIVATE_HINT = "activate a version of the dataset, or name another one"


def check_dataset(catalog: Catalog, definition: Definition[Dataset]) -> list[Problem]:
    """Return what is wrong with a dataset."""
    check = _DatasetCheck(catalog, definition)
    check.run()
    return check.problems


class _DatasetCheck:
    def __init__(self, catalog: Catalog, definition: Definition[Dataset]) -> None:
        self._catalog, self._definition, self._dataset = catalog, definition, definition.model
        self.problems: list[Problem] = []

    def run(self) -> None:
        """Check everything."""
        self._check_table(("main_table",), self._dataset.main_table)
        self._check_natural_key()
        self._check_resolver()
        seen: dict[str, int] = {}
        for index, lookup in enumerate(self._dataset.lookups):
            self._check_alias(index, lookup, seen)
            self._check_target(("lookups", index), lookup)

    def _report(self, code: Code, path: Path, message: str, hint: str | None = None, *, key: bool = False) -> None:
        self.problems.append(Problem(code, message, hint, self._definition.locate(*path, key=key)))

    def _check_table(self, path: Path, table: Table) -> None:
        seen: dict[str, str] = {}
        for index, column in enumerate(table.columns):
            place: Path = (*path, "columns", index, "name")
            lowered = column.name.lower()
            twin = seen.get(lowered)
            if lowered in SYSTEM_COLUMN_NAMES:
                hint = "the engine adds it" + (
                    "" if lowered == column.name else f" as '{lowered}'; case does not count"
                )
                self._report("CATALOG_002", place, f"column name '{column.name}' is reserved", hint)
            elif twin == column.name:
                self._report("CATALOG_002", place, f"column '{column.name}' is given twice", "keep one of them")
            elif twin is not None:
                message = f"column '{column.name}' differs from '{twin}' only in case"
                self._report("CATALOG_002", place, message, "rename one of them")
            seen.setdefault(lowered, column.name)
        self._check_temporal_columns((*path, "temporal_columns"), table)

    def _check_temporal_columns(self, path: Path, table: Table) -> None:
        names = table.temporal_columns
        seen: set[str] = set()
        for key, name in (("period", names.period), ("from", names.from_), ("to", names.to)):
            if name is None:
                continue
            if name in SYSTEM_COLUMN_NAMES - TEMPORAL_COLUMN_NAMES:
                self._report("CATALOG_002", (*path, key), f"column name '{name}' is reserved", "the engine adds it")
            if name.lower() in seen:
                self._report("CATALOG_002", (*path, key), f"temporal column '{name}' is given twice")
            seen.add(name.lower())
            self._check_declared_twin((*path, key), table, name)

    def _check_declared_twin(self, path: Path, table: Table, name: str) -> None:
        twin = next((column.name for column in table.columns if column.name.lower() == name.lower()), name)
        if twin != name:
            self._report("CATALOG_002", path, f"column '{name}' differs from '{twin}' only in case", f"write '{twin}'")

    def _check_natural_key(self) -> None:
        names = [column.name for column in self._dataset.main_table.columns]
        for index, name in enumerate(self._dataset.natural_key_columns):
            path: Path = ("natural_key_columns", index)
            if name not in names:
                self._report("CATALOG_002", path, f"unknown column '{name}'", suggest(name, names))
            if name in self._dataset.natural_key_columns[:index]:
                self._report("CATALOG_002", path, f"column '{name}' is given twice", "keep one of them")

    def _check_resolver(self) -> None:
        identifier = self._dataset.resolver_id
        if identifier is None or not is_unknown_resolver(self._catalog, identifier):
            return
        known = list(dict.fromkeys(found for found, _ in self._catalog.resolvers))
        message = f"unknown resolver '{identifier}'"
        self._report("CATALOG_004", ("resolver_id",), message, suggest(identifier, known))

    def _check_alias(self, index: int, lookup: Lookup, seen: dict[str, int]) -> None:
        path: Path = ("lookups", index, "alias")
        # Spark does not tell names apart that differ only in case.
        name = lookup.alias.lower()
        if name in seen:
            message = f"lookup alias '{lookup.alias}' is given twice"
            self._report("CATALOG_002", path, message, "every lookup has an alias of its own, not only in case")
        elif name == self._dataset.main_table.name.lower():
            message = f"lookup alias '{lookup.alias}' is the name of the main table"
            self._report("CATALOG_002", path, message, "choose another alias")
        seen[name] = index

    def _check_target(self, path: Path, lookup: Lookup) -> None:
        target = lookup.target
        if not isinstance(target, DatasetTarget):
            self._check_table((*path, "target"), target)
            self._check_conditions(path, lookup, target)
            return
        found = self._find_target((*path, "target"), target)
        if found is not None:
            self._check_conditions(path, lookup, found.model.main_table)

    def _find_target(self, path: Path, target: DatasetTarget) -> Definition[Dataset] | None:
        found = self._catalog.find_dataset(target.id, target.version)
        if found is not None:
            if found.model.status == "disabled":
                self._report("DATASET_002", (*path, "id"), f"lookup dataset '{target.id}' is disabled", ACTIVATE_HINT)
            return found
        if self._catalog.is_broken("dataset", target.id) or self._catalog.find_registration(target.id):
            return None
        versions = self._catalog.list_dataset_versions(target.id)
        if not versions:
            names = [definition.model.name for definition in self._catalog.datasets.values()]
            known = [key for key, _ in self._catalog.datasets]
            message = f"lookup dataset '{target.id}' not found"
            self._report("DATASET_001", (*path, "id"), message, suggest(target.id, dict.fromkeys([*known, *names])))
        elif target.version is None:
            self._report("DATASET_002", (*path, "id"), f"lookup dataset '{target.id}' is disabled", ACTIVATE_HINT)
        else:
            listed = [str(definition.model.version) for definition in versions]
            message = f"lookup dataset '{target.id}' has no version {target.version}"
            self._report("DATASET_003", (*path, "version"), message, f"known are: {', '.join(listed[-8:])}")
        return None

    def _check_conditions(self, path: Path, lookup: Lookup, table: Table) -> None:
        sides = {
            "source_column": {**SYSTEM_COLUMN_TYPES, **_list_columns(self._dataset.main_table)},
            "target_column": _list_columns(table),
        }
        unknown = False
        for index, condition in enumerate(lookup.join_conditions):
            for key, name in (("source_column", condition.source_column), ("target_column", condition.target_column)):
                if name not in sides[key]:
                    unknown = True
                    message = f"unknown column '{name}' in the conditions of lookup '{lookup.alias}'"
                    place: Path = (*path, "join_conditions", index, key)
                    known = [column for column in sides[key] if column not in SYSTEM_COLUMN_NAMES]
                    self._report("EXPR_002", place, message, suggest(name, known))
        if not unknown and lookup.alias != self._dataset.main_table.name:
            for code, message, hint in check_equalities(self._dataset.main_table.name, lookup, sides):
                self._report(code, (*path, "join_conditions"), message, hint)


def check_equalities(
    main_table: str, lookup: Lookup, sides: Mapping[str, Mapping[str, DataType]]
) -> list[tuple[Code, str, str | None]]:
    """Return code, message and hint of what keeps a lookup's columns from being compared."""
    if all(
        sides["source_column"][condition.source_column] == sides["target_column"][condition.target_column]
        for condition in lookup.join_conditions
    ):
        return []
    from airflow_provider_runtime.core.expr.checker import check_tree
    from airflow_provider_runtime.core.expr.nodes import ColumnRef, make_equalities
    from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn

    source = {name: ScopeColumn(data_type) for name, data_type in sides["source_column"].items()}
    target = {name: ScopeColumn(data_type) for name, data_type in sides["target_column"].items()}
    scope = Scope(Relation(main_table, "working", source), {lookup.alias: Relation(lookup.alias, "lookup", target)})
    pairs = [
        (ColumnRef(main_table, condition.source_column), ColumnRef(lookup.alias, condition.target_column))
        for condition in lookup.join_conditions
    ]
    prefix = f"the conditions of lookup '{lookup.alias}' cannot be compared: "
    found = check_tree(make_equalities(pairs), scope, expect_boolean=True).problems
    return [(problem.code, prefix + problem.message, problem.hint) for problem in found]


def is_unknown_resolver(catalog: Catalog, identifier: str) -> bool:
    """Whether no resolver has this id; one with errors of its own counts as known."""
    if identifier == REGISTRY_RESOLVER_ID or catalog.is_broken("resolver", identifier):
        return False
    return not catalog.list_resolver_versions(identifier)


def _list_columns(table: Table) -> dict[str, DataType]:
    """Return the columns of a table by name, its temporal ones included."""
    names = table.temporal_columns
    temporal: dict[str, DataType] = {}
    if table.temporal_mode == "period":
        temporal[names.period or "_period"] = STRING
    elif table.temporal_mode == "bitemporal":
        temporal[names.from_ or "_period_from"] = DATE
        temporal[names.to or "_period_to"] = DATE
    return {**temporal, **{column.name: column.data_type for column in table.columns}}


def check_lookup_cycles(catalog: Catalog) -> list[Problem]:
    """Return a problem for each circle of lookups that one walk meets, at the first dataset of the circle."""
    order = {_key(definition): position for position, definition in enumerate(catalog.datasets.values())}
    problems: list[Problem] = []
    for circle in islice(_find_circles(catalog), MOST_CIRCLES):
        first = min(range(len(circle)), key=lambda step: order[_key(circle[step][0])])
        route = [*circle[first:], *circle[:first]]
        definition, index = route[0]
        names = " -> ".join(found.model.name for found, _ in [*route, route[0]])
        place = definition.locate("lookups", index, "target", "id")
        problems.append(Problem("CATALOG_002", f"lookups form a cycle: {names}", "remove one of these lookups", place))
    return problems


def _find_circles(catalog: Catalog) -> Iterator[list[Step]]:
    """Walk along all lookups, each once, and yield the way between two visits of a dataset that is under way."""
    done: set[Version] = set()
    for start in catalog.datasets.values():
        # Datasets under way, each with its lookups; and the step that was taken from each.
        waiting = [] if _key(start) in done else [(_key(start), _list_targets(catalog, start))]
        way: dict[Version, Step] = {}
        done.add(_key(start))
        while waiting:
            key, lookups = waiting[-1]
            step = next(lookups, None)
            if step is None:
                waiting.pop()
                way.pop(key, None)
                continue
            way[key], target = step
            if _key(target) in way:
                steps = list(way.items())
                yield [taken for at, taken in steps[[at for at, _ in steps].index(_key(target)) :]]
            elif _key(target) not in done:
                done.add(_key(target))
                waiting.append((_key(target), _list_targets(catalog, target)))


def _list_targets(catalog: Catalog, definition: Definition[Dataset]) -> Iterator[tuple[Step, Definition[Dataset]]]:
    """Yield the step along each lookup to another dataset of the catalog, and this dataset; each dataset once."""
    seen: set[Version] = set()
    for index, lookup in enumerate(definition.model.lookups):
        if isinstance(lookup.target, DatasetTarget):
            found = catalog.find_dataset(lookup.target.id, lookup.target.version)
            if found is not None and _key(found) not in seen:
                seen.add(_key(found))
                yield (definition, index), found


def _key(definition: Definition[Dataset]) -> Version:
    return definition.model.id, definition.model.version
