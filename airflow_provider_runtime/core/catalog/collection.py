"""Documents to definitions, gathered into a catalog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Kind, SourceMap
from airflow_provider_runtime.core.catalog.documents import KINDS, read_definition
from airflow_provider_runtime.core.catalog.partly_read import PartlyRead
from airflow_provider_runtime.core.catalog.rules_secrets import holds_secret
from airflow_provider_runtime.core.catalog.yaml_nodes import Document, Node
from airflow_provider_runtime.core.catalog.yaml_source import ParsedFile
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import Resolver
from airflow_provider_runtime.core.suggest import find_nearest, list_names

Key = TypeVar("Key", str, tuple[str, int])
Kept = TypeVar("Kept", bound=Model)
KIND_LINE = re.compile(rf"^({'|'.join(KINDS)})[ \t]*:", re.MULTILINE)
NAME_LINE = re.compile(r"(?:^|[{,])[ \t-]*(?:id|name)[ \t]*:[ \t]*([^\n,}#]+)", re.MULTILINE)


@dataclass
class Collection:
    """The definitions that have been read so far, and what is wrong with the others."""

    calendars: dict[str, Definition[Calendar]] = field(default_factory=dict)
    datasources: dict[str, Definition[Datasource]] = field(default_factory=dict)
    resolvers: dict[tuple[str, int], Definition[Resolver]] = field(default_factory=dict)
    datasets: dict[tuple[str, int], Definition[Dataset]] = field(default_factory=dict)
    projects: dict[tuple[str, int], Definition[Project]] = field(default_factory=dict)
    broken: set[tuple[Kind, str]] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    partly: list[PartlyRead] = field(default_factory=list)

    def add(self, definition: Definition[Model]) -> None:
        """Keep a definition; a second one with its id and version is a problem."""
        model = definition.model
        if isinstance(model, Calendar):
            self._keep(self.calendars, model.id, cast("Definition[Calendar]", definition))
        elif isinstance(model, Datasource):
            self._keep(self.datasources, model.id, cast("Definition[Datasource]", definition))
        elif isinstance(model, Resolver):
            self._keep(self.resolvers, (model.id, model.version), cast("Definition[Resolver]", definition))
        elif isinstance(model, Dataset):
            self._keep(self.datasets, (model.id, model.version), cast("Definition[Dataset]", definition))
        elif isinstance(model, Project):
            self._keep(self.projects, (model.id, model.version), cast("Definition[Project]", definition))

    def _keep(self, kept: dict[Key, Definition[Kept]], key: Key, definition: Definition[Kept]) -> None:
        first = kept.get(key)
        if first is None:
            kept[key] = definition
            return
        place = first.locate("id")
        label = f"{key[0]}' version {key[1]}" if isinstance(key, tuple) else f"{key}'"
        hint = f"the first one is in {place.file}, line {place.line}"
        hint += "; give this one a new version" if isinstance(key, tuple) else "; give this one another id"
        problem = Problem("CATALOG_003", f"{definition.kind} '{label} is defined twice", hint, definition.locate("id"))
        self.problems.append(problem)

    def make_catalog(self, root: Path) -> Catalog:
        """Return the catalog of what was read."""
        return Catalog(
            root,
            self.calendars,
            self.datasources,
            self.resolvers,
            self.datasets,
            self.projects,
            frozenset(self.broken),
        )

    def read_file(self, parsed: ParsedFile) -> None:
        """Keep all definitions of a file."""
        self.problems.extend(parsed.problems)
        for text in parsed.unread:
            self.broken.update(guess_names(text))
        for document in parsed.documents:
            _read_document(document, self)


def guess_names(text: str) -> Iterator[tuple[Kind, str]]:
    """Yield what an unreadable text seems to define, so that references to it are not called wrong too."""
    kinds = [cast("Kind", kind) for kind in re.findall(KIND_LINE, text)]
    names = [name.strip().strip("'\"") for name in re.findall(NAME_LINE, text)]
    yield from ((kind, name) for kind in dict.fromkeys(kinds) for name in dict.fromkeys(names))


def _read_document(document: Document, collection: Collection) -> None:
    if document.root is None:
        return
    source = document.source
    entries = document.root.entries
    if not entries:
        message = "expected a mapping with one key that says the kind"
        location = source.locate(document.root.start)
        problem = Problem("CATALOG_002", message, f"one of: {list_names(KINDS)}", location)
        collection.problems.append(problem)
        return
    keys = list(entries)
    known = [key for key in keys if key in KINDS]
    for key in ["scenario"] if "scenario" in keys and not known else keys:
        if key not in KINDS:
            collection.problems.append(_refuse_kind(document, entries[key][0], key))
    for key in known[1:] if len(known) == len(keys) else []:
        node = entries[key][0]
        message = f"a document has one top-level key, found {len(keys)}: {list_names(keys)}"
        hint = f"put a line '---' before '{key}:'"
        collection.problems.append(Problem("CATALOG_002", message, hint, source.locate(node.start, node.end)))
    for key in known:
        _read_body(key, document, entries[key], collection)


def _refuse_kind(document: Document, node: Node, key: str) -> Problem:
    nearest = find_nearest(key, KINDS)
    hint = f"did you mean '{nearest}'?" if nearest else f"kinds are: {list_names(KINDS)}"
    if key == "scenario":
        hint = "keep scenario files outside the catalog folder"
    shown = "…" if holds_secret(key) else key if len(key) <= 60 else key[:59] + "…"
    location = document.source.locate(node.start, node.end)
    return Problem("CATALOG_002", f"unknown kind '{shown}'", hint, location)


def _read_body(key: str, document: Document, entry: tuple[Node, Node], collection: Collection) -> None:
    kind_key, body = entry
    source = SourceMap(document.source, body, kind_key)
    read = read_definition(key, source)
    collection.problems.extend(read.problems)
    if read.definition is not None:
        collection.add(read.definition)
    if read.partly is not None:
        collection.partly.append(read.partly)
    if read.definition is None or document.broken:
        for name in ("id", "name"):
            node, exact = source.find_node((name,))
            if exact and node is not None and node.text:
                collection.broken.add((key, node.text))  # type: ignore[arg-type]
