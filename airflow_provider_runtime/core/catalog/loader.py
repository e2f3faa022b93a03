"""A folder of YAML files to a catalog, with everything that is wrong in any of them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Kind, SourceMap
from airflow_provider_runtime.core.catalog.documents import KINDS, read_definition
from airflow_provider_runtime.core.catalog.rules import check_catalog
from airflow_provider_runtime.core.catalog.yaml_source import (
    MAX_FILE_BYTES,
    Document,
    Node,
    ParsedFile,
    parse_bytes,
    parse_text,
)
from airflow_provider_runtime.core.errors import Location, Problem, raise_problems
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import Resolver
from airflow_provider_runtime.core.suggest import find_nearest, list_names

Key = TypeVar("Key", str, tuple[str, int])
Kept = TypeVar("Kept", bound=Model)
SUFFIXES = (".yaml", ".yml")
KIND_LINE = re.compile(rf"^({'|'.join(KINDS)})[ \t]*:", re.MULTILINE)
NAME_LINE = re.compile(r"(?:^|[{,])[ \t-]*(?:id|name)[ \t]*:[ \t]*([^\n,}#]+)", re.MULTILINE)


@dataclass(frozen=True)
class LoadResult:
    """A catalog of all that could be read, and the problems of the rest."""

    catalog: Catalog
    problems: tuple[Problem, ...] = ()

    def get_catalog(self) -> Catalog:
        """Return the catalog; raise all problems if there are any."""
        raise_problems(self.problems)
        return self.catalog


@dataclass
class _Collection:
    """What has been read so far."""

    calendars: dict[str, Definition[Calendar]] = field(default_factory=dict)
    datasources: dict[str, Definition[Datasource]] = field(default_factory=dict)
    resolvers: dict[tuple[str, int], Definition[Resolver]] = field(default_factory=dict)
    datasets: dict[tuple[str, int], Definition[Dataset]] = field(default_factory=dict)
    projects: dict[tuple[str, int], Definition[Project]] = field(default_factory=dict)
    broken: set[tuple[Kind, str]] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

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


def load_catalog(root: Path | str) -> LoadResult:
    """Read and check every definition below a folder."""
    root = Path(root)
    if not root.is_dir():
        message = "catalog folder does not exist" if not root.exists() else "catalog is not a folder"
        location = Location(file=str(root))
        problem = Problem("CATALOG_001", message, "name it with --catalog, or make one with init", location)
        return LoadResult(Catalog(root), (problem,))
    problems: list[Problem] = []
    result = build_catalog((_read_file(path, name) for path, name in find_files(root, problems)), root)
    return replace(result, problems=(*problems, *result.problems))


def load_texts(texts: dict[str, str], root: Path | str = ".") -> LoadResult:
    """Read and check definitions that are given as texts, by file name."""
    return build_catalog((parse_text(text, name) for name, text in texts.items()), Path(root))


def build_catalog(files: Iterable[ParsedFile], root: Path) -> LoadResult:
    """Make a catalog of parsed files and check it."""
    collection = _Collection()
    for parsed in files:
        collection.problems.extend(parsed.problems)
        for text in parsed.unread:
            collection.broken.update(guess_names(text))
        for document in parsed.documents:
            _read_document(document, collection)
    return finish_catalog(collection.make_catalog(root), collection.problems)


def guess_names(text: str) -> Iterator[tuple[Kind, str]]:
    """Yield what an unreadable text seems to define, so that references to it are not called wrong too."""
    kinds = [cast("Kind", kind) for kind in re.findall(KIND_LINE, text)]
    names = [name.strip().strip("'\"") for name in re.findall(NAME_LINE, text)]
    yield from ((kind, name) for kind in dict.fromkeys(kinds) for name in dict.fromkeys(names))


def finish_catalog(catalog: Catalog, problems: list[Problem]) -> LoadResult:
    """Check a catalog across its documents and put all problems into the order of files and lines."""
    found = [*problems, *check_catalog(catalog)]
    found.sort(key=lambda problem: (problem.location.file or "", problem.location.line, problem.location.column))
    return LoadResult(catalog, tuple(dict.fromkeys(found)))


def find_files(root: Path, problems: list[Problem] | None = None) -> Iterator[tuple[Path, str]]:
    """Yield every YAML file and its name below a folder; hidden ones are left out, links are followed once.

    Folders that cannot be read are added to the problems.
    """

    def refuse(error: OSError) -> None:
        if problems is not None:
            name = os.path.relpath(error.filename, root) if error.filename else str(root)
            problems.append(_refuse_unreadable("folder", name, error))

    seen: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(root, onerror=refuse, followlinks=True):
        try:
            status = os.stat(folder)
        except OSError as error:
            refuse(error)
            continue
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                yield path, path.relative_to(root).as_posix()


def _read_file(path: Path, name: str) -> ParsedFile:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a regular file")
        with path.open("rb") as file:
            return parse_bytes(file.read(MAX_FILE_BYTES + 1), name)
    except OSError as error:
        return ParsedFile(problems=[_refuse_unreadable("file", name, error)])


def _refuse_unreadable(what: str, name: str, error: OSError) -> Problem:
    reason = (error.strerror or str(error)).lower()
    return Problem("CATALOG_001", f"{what} cannot be read: {reason}", "check its permissions", Location(file=name))


def _read_document(document: Document, collection: _Collection) -> None:
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
    for key in keys:
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
    shown = key if len(key) <= 60 else key[:59] + "…"
    location = document.source.locate(node.start, node.end)
    return Problem("CATALOG_002", f"unknown kind '{shown}'", hint, location)


def _read_body(key: str, document: Document, entry: tuple[Node, Node], collection: _Collection) -> None:
    kind_key, body = entry
    source = SourceMap(document.source, body, kind_key)
    definition, problems = read_definition(key, source)
    collection.problems.extend(problems)
    if definition is not None:
        collection.add(definition)
    if definition is None or document.broken:
        for name in ("id", "name"):
            node, exact = source.find_node((name,))
            if exact and node is not None and node.text:
                collection.broken.add((key, node.text))  # type: ignore[arg-type]
