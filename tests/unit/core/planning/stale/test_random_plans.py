"""Random projects with a reader of what they register: every change is in the plan with its reason, and nothing else.

What the reference computes otherwise after a change must be among the columns that the plan names. What the plan says
of the reader follows from the columns that it names of the registered output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.errors import DefinitionError
from airflow_provider_runtime.core.planning.check.project import ProjectChecks
from airflow_provider_runtime.core.planning.check.registered import infer_output_schema
from airflow_provider_runtime.core.registry.ports import SliceWrite
from spark_jobs.contract.plan import OutputOperation
from tests.reference.projects import Generator, RandomProject
from tests.unit.core.books import Books
from tests.unit.core.planning.stale.test_mutations import TABLES, Mutant, Tally, list_changed

SEEDS = 4
SEEDS_IN_CHAOS = 300
MONTH = "2026-02"
NAME = "Random Rows"
LAKE = {"datasource": {"id": "lake", "type": "csv", "path_prefix": "../data"}}
ELSEWHERE = "{{table_name}}_moved.csv"
Named = dict[str, set[str]]
"""The columns that a plan names, by the kind of the reason."""


@dataclass
class RandomBooks(Books):
    """A random project with the files that it reads, and a project that reads what its first output registers."""

    registers: int | None = None
    """Seq of the output that is registered."""
    columns: tuple[str, ...] = ()
    """The declared columns of what is registered."""
    datasets: list[dict[str, object]] = field(default_factory=list)

    def write_all(
        self, *versions: RandomProject, newer: str = "", moved: str = "", resolver: int = 1, **changes: Any
    ) -> None:
        """Write the catalog: versions of the project, a dataset in a newer version, and one that is found elsewhere."""
        datasets = [*self.datasets, *({**d, "version": 2} for d in self.datasets if d["id"] == newer)]
        projects = [self._make_project(found, number + 1) for number, found in enumerate(versions)]
        projects[-1] |= changes
        documents = [LAKE, make_resolver(moved, resolver), *({"dataset": dataset} for dataset in datasets)]
        documents += [{"project": project} for project in projects]
        if self.columns:
            documents.append({"project": make_reader(self.columns)})
        self.write("\n---\n".join(json.dumps(document, ensure_ascii=False) for document in documents))

    def _make_project(self, project: RandomProject, version: int) -> dict[str, object]:
        operations = json.loads(json.dumps(project.operations))
        for operation in operations:
            if operation["type"] == "output":
                arguments = operation["arguments"]
                arguments["destination"] = {"datasource_id": "lake", "table": f"out/{operation['seq']}"}
                if operation["seq"] == self.registers:
                    arguments["register_as_dataset"] = NAME
        shared = {"id": "random-project", "name": "random", "input_dataset_id": "ledger"}
        return {**shared, "version": version, "selectors": project.selectors, "operations": operations}

    def _write_slice(self, operation: OutputOperation, period: str) -> SliceWrite:
        write = super()._write_slice(operation, period)
        loaded = load_catalog(self.root / "catalog").catalog
        definition = loaded.find_project("random")
        assert definition is not None
        schema = infer_output_schema(ProjectChecks(loaded).check(definition), operation.seq)
        assert schema is not None
        return SliceWrite(
            write.output_seq,
            write.dataset_id,
            NAME,
            period,
            write.uri,
            1,
            {**schema.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"version"})},
        )

    def look(self) -> dict[str, Named]:
        """Return what the plan names, by project."""
        return {
            entry.work.project: {
                kind: {name for reason in entry.reasons if reason.kind == kind for name in reason.columns}
                for kind in {reason.kind for reason in entry.reasons}
            }
            for entry in self.plan(period=MONTH).entries
            if entry.state in ("stale", "fresh")
        }


def make_resolver(moved: str, version: int) -> dict[str, object]:
    def strategy(path: str) -> dict[str, str]:
        return {"type": "path", "datasource_id": "lake", "path": path}

    rules: list[dict[str, object]] = [{"name": "all", "data_level": "any", "strategy": strategy("{{table_name}}.csv")}]
    if moved:
        when = f'table.name = "{moved}_rows"'
        rules.insert(0, {"name": "moved", "data_level": "any", "when": when, "strategy": strategy(ELSEWHERE)})
    return {"resolver": {"id": "lake", "version": version, "is_default": True, "rules": rules}}


def make_reader(columns: Iterable[str]) -> dict[str, object]:
    """Return a project with an output for each column."""
    outputs = [
        {
            "seq": seq,
            "name": f"only {name}",
            "type": "output",
            "arguments": {"destination": {"datasource_id": "lake", "table": f"read/{seq}"}, "columns": [name]},
        }
        for seq, name in enumerate(columns, 1)
    ]
    return {"id": "reader", "name": "reader", "version": 1, "input_dataset_id": NAME, "operations": outputs}


def make_books(project: RandomProject, folder: Path) -> RandomBooks | None:
    """Return books in which the project and its reader are published; None for a project that does not run."""
    folder.mkdir()
    books = RandomBooks(folder, datasets=project.datasets)
    for name in TABLES:
        for path in (f"{name}_rows.csv", ELSEWHERE.replace("{{table_name}}", f"{name}_rows")):
            books.put(path, name)
    books.write_all(project)
    loaded = load_catalog(folder / "catalog").catalog
    definition = loaded.find_project("random")
    assert definition is not None
    if not ProjectChecks(loaded).check(definition).ok:
        return None
    seq = books.registers = min(project.outputs)
    books.write_all(project)
    loaded = load_catalog(folder / "catalog").catalog
    definition = loaded.find_project("random")
    assert definition is not None
    checked = ProjectChecks(loaded).check(definition)
    schema = infer_output_schema(checked, seq) if checked.ok else None
    if schema is None:
        books.registers = None
    else:
        books.columns = tuple(column.name for column in schema.main_table.columns)
    books.write_all(project)
    books.run("random", MONTH)
    if books.columns:
        books.run("reader", MONTH)
    return books


def list_differing(before: RandomProject, after: RandomProject) -> set[str]:
    return {name for seq in before.outputs for name in list_changed(before, after, seq)}


def check_reader(books: RandomBooks, found: Mapping[str, Named], differing: set[str]) -> None:
    """The reader is stale by what its upstream would change, and by nothing else."""
    if books.columns:
        named = found["reader"]
        assert set(named) <= {"upstream"}
        assert named.get("upstream", set()) <= set(books.columns)
        assert differing & set(books.columns) <= named.get("upstream", set())


def list_newer(seed: int) -> Iterator[RandomProject]:
    """Yield the same project with other assignments and selectors."""
    for kind in ("assignment", "selector"):
        for turn in range(2):
            mutant = Mutant(seed, kind, turn)
            after = mutant.generate()
            if mutant.hit and not after.fails_with:
                yield after


def check_definitions(books: RandomBooks, before: RandomProject, tally: Tally) -> None:
    for after in list_newer(before.seed):
        books.write_all(before, after)
        try:
            found = books.look()
        except DefinitionError:
            # Types of the other assignment may need more digits than there are.
            continue
        named, differing = found["random"], list_differing(before, after)
        assert set(named) <= {"definition"}
        assert differing <= named.get("definition", set()), before.seed
        check_reader(books, found, set(list_changed(before, after, min(before.outputs))))
        tally.predicted += len(named.get("definition", ()))
        tally.seen += len(differing)


def check_tables(books: RandomBooks, before: RandomProject, tally: Tally) -> None:
    for name, columns in TABLES.items():
        mutants = [Mutant(before.seed, "source", source=(name, column)).generate() for column in columns]
        ran = [after for after in mutants if not after.fails_with]
        differing = {column for after in ran for column in list_differing(before, after)}
        first = {column for after in ran for column in list_changed(before, after, min(before.outputs))}
        path = books.root / "data" / f"{name}_rows.csv"
        state = path.stat()
        books.write_all(before)
        os.utime(path, (1, 1))
        late = books.look()
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        books.write_all(before, newer=name)
        newer = books.look()
        books.write_all(before, moved=name, resolver=2)
        moved = books.look()
        expected = late["random"].get("source", set())
        assert differing <= expected, (before.seed, name)
        for kind, found in (("source", late), ("version", newer), ("resolver", moved)):
            assert found["random"] == ({kind: expected} if expected else {}), (before.seed, name, kind)
            check_reader(books, found, first)
        tally.predicted += len(expected)
        tally.seen += len(differing)


def check_neutral(books: RandomBooks, before: RandomProject) -> None:
    """Nothing that computes the same makes anything stale."""
    renamed = [
        {**operation, "name": f"step {operation['seq']}", "description": "said"} for operation in before.operations
    ]
    check = {"name": "some", "output": min(before.outputs), "value": "COUNT(*)", "on_fail": "warn"}
    (books.root / "data" / "unrelated.csv").write_text("x")
    books.write_all(before, RandomProject(before.seed, operations=list(reversed(renamed)), selectors=before.selectors))
    assert not any(books.look()["random"].values())
    for changes in ({"checks": [check]}, {"airflow": {"retries": 3}}, {"keep_failing_rows": False}):
        books.write_all(before, before, **changes)
        assert not any(named for found in books.look().values() for named in found.values()), changes
    books.write_all(before, resolver=2)
    books.registry.set_period_status("gregorian", MONTH, "closed", who="ann", reason="done")
    assert not any(named for found in books.look().values() for named in found.values())


@pytest.mark.parametrize(("first", "count"), [(0, SEEDS), pytest.param(SEEDS, SEEDS_IN_CHAOS, marks=pytest.mark.chaos)])
def test_plan_names_every_change_and_nothing_else(first: int, count: int, tmp_path: Path) -> None:
    tally, ran = Tally(), 0
    for seed in range(first, first + count):
        before = Generator(seed).generate()
        books = None if before.fails_with else make_books(before, tmp_path / str(seed))
        if books is None:
            continue
        ran += 1
        check_definitions(books, before, tally)
        check_tables(books, before, tally)
        check_neutral(books, before)
    assert ran > 0.4 * count
    assert tally.seen > 0.1 * tally.predicted
