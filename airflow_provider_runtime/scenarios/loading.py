"""Finds scenario files and reads the scenarios in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Kind, SourceMap
from airflow_provider_runtime.core.catalog.documents import read_definition
from airflow_provider_runtime.core.catalog.files import find_files, read_file
from airflow_provider_runtime.core.catalog.loader import LoadResult, finish_catalog, load_catalog
from airflow_provider_runtime.core.catalog.translate import translate_validation_error
from airflow_provider_runtime.core.catalog.yaml_nodes import Document, Node
from airflow_provider_runtime.core.catalog.yaml_source import parse_bytes
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.scenario import INLINE_KINDS, Scenario

SCENARIO_LINE = re.compile(r"^[\"']?scenario[\"']?\s*:", re.MULTILINE)
"""A line of a text that is not YAML and was meant to be a scenario."""


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario with the file and the places that it comes from, or what is wrong with it."""

    file: Path
    name: str
    scenario: Scenario | None
    source: SourceMap | None = None
    problems: tuple[Problem, ...] = ()


def load_scenarios(paths: Sequence[Path]) -> list[LoadedScenario]:
    """Read every scenario of the files, and of the files below the folders, that are named."""
    return [
        scenario for path in paths for file, explicit in _list_files(path) for scenario in _read_file(file, explicit)
    ]


def _list_files(path: Path) -> Iterator[tuple[Path, bool]]:
    if path.is_dir():
        yield from ((file, False) for file, _ in find_files(path))
    else:
        yield path, True


def _read_file(file: Path, explicit: bool) -> Iterator[LoadedScenario]:
    """Yield the scenarios of a file; in a folder, files without any (a catalog's) are passed over."""
    data = read_file(file, str(file))
    if isinstance(data, Problem):
        yield _refuse(file, data)
        return
    parsed = parse_bytes(data, str(file))
    documents = [document for document in parsed.documents if _is_scenario(document)]
    if not documents and not explicit and not any(SCENARIO_LINE.search(text) for text in parsed.unread):
        return
    if parsed.problems:
        yield LoadedScenario(file, file.name, None, None, tuple(parsed.problems))
        return
    if not documents:
        hint = "a scenario is a document with the keys scenario, run, data and expect"
        yield _refuse(file, Problem("CATALOG_002", "file holds no scenario", hint, Place(file=str(file))))
    for document in documents:
        yield read_document(file, document)


def _refuse(file: Path, problem: Problem) -> LoadedScenario:
    return LoadedScenario(file, file.name, None, None, (problem,))


def _is_scenario(document: Document) -> bool:
    return document.root is not None and "scenario" in (document.root.entries or {})


def read_document(file: Path, document: Document) -> LoadedScenario:
    """Read the scenario in a document."""
    assert document.root is not None
    source = SourceMap(document.source, document.root)
    name = (document.root.entries or {})["scenario"][1].text or file.name
    try:
        scenario = Scenario.model_validate(document.root.to_value(), by_alias=True, by_name=False)
    except ValidationError as error:
        return LoadedScenario(file, name, None, source, tuple(translate_validation_error(error, source, Scenario)))
    return LoadedScenario(file, name, scenario, source)


def load_scenario_catalog(loaded: LoadedScenario) -> LoadResult:
    """Return the catalog of a scenario: its folder's definitions, and those that it holds itself."""
    scenario, source = loaded.scenario, loaded.source
    assert scenario is not None
    assert source is not None
    folder = loaded.file.parent / scenario.catalog if scenario.catalog else None
    base = load_catalog(folder) if folder is not None else LoadResult(Catalog(loaded.file.parent.resolve()))
    catalog, problems = _add_inline(base, source)
    if catalog is base.catalog:
        return LoadResult(catalog, tuple(problems))
    return finish_catalog(catalog, problems)


def _add_inline(base: LoadResult, source: SourceMap) -> tuple[Catalog, list[Problem]]:
    kept: dict[str, dict[object, object]] = {key: dict(getattr(base.catalog, key)) for key in INLINE_KINDS}
    problems = list(base.problems)
    broken = set(base.catalog.broken)
    added = False
    for key, kind in INLINE_KINDS.items():
        node, exact = source.find_node((key,))
        for item in (node.items or []) if exact and node is not None else []:
            added = True
            read = read_definition(kind, SourceMap(source.source, item))
            problems += read.problems
            definition = read.definition
            if definition is None:
                broken |= _name_broken(kind, item)
                continue
            model = definition.model
            identity = (model.id, model.version) if hasattr(model, "version") else model.id  # type: ignore[attr-defined]
            if identity in kept[key]:
                message = f"{kind} '{model.id}' is defined twice"  # type: ignore[attr-defined]
                hint = "give this one another id or version"
                problems.append(Problem("CATALOG_003", message, hint, definition.locate("id")))
            kept[key][identity] = definition
    if not added:
        return base.catalog, problems
    return replace(base.catalog, broken=frozenset(broken), **kept), problems  # type: ignore[arg-type]


def _name_broken(kind: str, item: Node) -> set[tuple[Kind, str]]:
    """Return the name of a definition with errors, so that it is not reported as missing too."""
    nodes = [(item.entries or {}).get(key) for key in ("id", "name")]
    return {(kind, entry[1].text) for entry in nodes if entry is not None and entry[1].text}  # type: ignore[misc]
