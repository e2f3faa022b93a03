"""Datasets: columns that can live together, lookups that lead somewhere and not back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.catalog.lookup_conditions import check_lookup, make_input_relation, make_relation
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.dataset import Dataset, DatasetTarget, Lookup, Table
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES, TEMPORAL_COLUMN_NAMES
from airflow_provider_runtime.core.suggest import suggest

Version = tuple[str, int]
Step = tuple[Definition[Dataset], int]
"""A dataset, and the position of one of its lookups."""
MOST_CYCLES = 100
"""Cycles of lookups that are reported."""
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
            self._check_target(index, lookup)

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
        # To Spark, names that differ only in case are the same.
        name = lookup.alias.lower()
        if name in seen:
            message = f"lookup alias '{lookup.alias}' is given twice"
            self._report("CATALOG_002", path, message, "every lookup needs its own alias; case does not count")
        elif name == self._dataset.main_table.name.lower():
            message = f"lookup alias '{lookup.alias}' is the name of the main table"
            self._report("CATALOG_002", path, message, "choose another alias")
        seen[name] = index

    def _check_target(self, index: int, lookup: Lookup) -> None:
        path: Path = ("lookups", index, "target")
        if not isinstance(lookup.target, DatasetTarget):
            self._check_table(path, lookup.target)
            self._check_conditions(index, lookup, lookup.target)
            return
        found = self._find_target(path, lookup.target)
        if found is not None:
            self._check_conditions(index, lookup, found.model.main_table)

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

    def _check_conditions(self, index: int, lookup: Lookup, table: Table) -> None:
        if lookup.alias != self._dataset.main_table.name:
            source = make_input_relation(self._dataset.main_table)
            target = make_relation(lookup.alias, "lookup", table)
            self.problems += check_lookup(self._definition, index, source, target)


def is_unknown_resolver(catalog: Catalog, identifier: str) -> bool:
    """Whether no resolver has this id; one whose document has errors counts as known."""
    if identifier == REGISTRY_RESOLVER_ID or catalog.is_broken("resolver", identifier):
        return False
    return not catalog.list_resolver_versions(identifier)


def check_lookup_cycles(catalog: Catalog) -> list[Problem]:
    """Return a problem for each cycle of lookups that one walk meets, at the first dataset of the cycle."""
    order = {_key(definition): position for position, definition in enumerate(catalog.datasets.values())}
    problems: list[Problem] = []
    for cycle in islice(_find_cycles(catalog), MOST_CYCLES):
        first = min(range(len(cycle)), key=lambda step: order[_key(cycle[step][0])])
        route = [*cycle[first:], *cycle[:first]]
        definition, index = route[0]
        names = " -> ".join(found.model.name for found, _ in [*route, route[0]])
        place = definition.locate("lookups", index, "target", "id")
        problems.append(Problem("CATALOG_002", f"lookups form a cycle: {names}", "remove one of these lookups", place))
    return problems


def _find_cycles(catalog: Catalog) -> Iterator[list[Step]]:
    """Walk along all lookups, each once, and yield the path between two visits of a dataset that is being walked."""
    done: set[Version] = set()
    for start in catalog.datasets.values():
        # Datasets under way, each with its lookups; and the step that was taken from each.
        waiting = [] if _key(start) in done else [(_key(start), _list_targets(catalog, start))]
        path: dict[Version, Step] = {}
        done.add(_key(start))
        while waiting:
            key, lookups = waiting[-1]
            step = next(lookups, None)
            if step is None:
                waiting.pop()
                path.pop(key, None)
                continue
            path[key], target = step
            if _key(target) in path:
                steps = list(path.items())
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
