"""The outline of a catalog folder, remembered by the content of its files."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_runtime import __version__
from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.catalog.files import check_folder, read_files
from airflow_provider_runtime.core.catalog.needs import walk_references
from airflow_provider_runtime.core.catalog.rules_calendar import find_level_fault
from airflow_provider_runtime.core.catalog.selection import select_files
from airflow_provider_runtime.core.errors import DefinitionError, Place, Problem
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar
from airflow_provider_runtime.core.suggest import suggest
from airflow_provider_runtime.dag_factory.outline import FileOutline, ProjectOutline, outline_file
from airflow_provider_runtime.hooks.runtime import SECTION, find_home
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar
from spark_jobs.contract.documents import read_document, write_document

log = logging.getLogger(__name__)
_CACHE_FORMAT = 5


@dataclass(frozen=True)
class CatalogOutline:
    """What the files that were read define."""

    root: Path
    files: tuple[FileOutline, ...]
    unreadable: tuple[Problem, ...] = ()

    @cached_property
    def projects(self) -> tuple[ProjectOutline, ...]:
        """For each project its highest active version, else its highest draft."""
        best: dict[str, ProjectOutline] = {}
        for file in self.files:
            for project in file.projects:
                known = best.get(project.id)
                if project.status != "inactive" and (known is None or _rank(project) > _rank(known)):
                    best[project.id] = project
        return tuple(best.values())

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the files."""
        return [*self.unreadable, *(problem for file in self.files for problem in file.problems)]

    def find_project(self, reference: str) -> ProjectOutline | None:
        """Return a project by id or name."""
        return next((found for found in self.projects if reference in (found.id, found.name)), None)

    def get_project(self, reference: str) -> ProjectOutline:
        """Return a project by id or name, or raise what is wrong with it; PROJECT_001 when it is not there."""
        if (found := self.find_project(reference)) is not None:
            return found
        own = [problem for problem in self.problems if problem.location.project == reference]
        if own:
            raise DefinitionError(own)
        names = [project.name for project in self.projects]
        hint = suggest(reference, names) if names else "the catalog holds no project that can run"
        missing = Problem("PROJECT_001", f"project '{reference}' not found", hint, Place(file=str(self.root)))
        raise DefinitionError([missing, *self.problems])

    def get_calendar(self, project: ProjectOutline) -> Calendar:
        """Return a project's calendar; raise CATALOG_004 when it is not known, or does not have the project's level."""
        known = {GREGORIAN.id: GREGORIAN, **self._calendars}
        fault = find_level_fault(project.calendar, project.level, known, project.locate)
        if fault is not None:
            raise DefinitionError(fault)
        return known[project.calendar]

    @cached_property
    def _calendars(self) -> dict[str, Calendar]:
        return {data["id"]: decode_calendar(data) for file in self.files for data in file.calendars}

    def list_upstream(self, project: ProjectOutline) -> list[tuple[str, ProjectOutline]]:
        """Return the registered datasets that a project reads, each with the project that registers it."""
        registered = {name: other for other in self.projects for name in other.registered}
        by_ref = {registered_dataset_id(name): name for name in registered} | {name: name for name in registered}
        found = dict.fromkeys(by_ref[ref] for ref in walk_references(project.reads, self._follow) if ref in by_ref)
        return [(name, registered[name]) for name in found]

    def _follow(self, reference: str) -> Iterator[str]:
        return (lookup for lookups in self._datasets.get(reference, ()) for lookup in lookups)

    @cached_property
    def _datasets(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for file in self.files:
            for dataset in file.datasets:
                found.setdefault(dataset.id, []).append(dataset.lookups)
                found.setdefault(dataset.name, []).append(dataset.lookups)
        return found


def _rank(project: ProjectOutline) -> tuple[bool, int]:
    return project.status == "active", project.version


@dataclass
class _Reader:
    """Reads files once, and their outlines from the cache where it has them."""

    root: Path
    contents: dict[str, bytes] = field(default_factory=dict)
    unreadable: list[Problem] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def open(self) -> None:
        self.known = _read_cache(self.root)
        self.contents = dict(read_files(self.root, self.unreadable))

    def read(self, names: Container[str]) -> CatalogOutline:
        """Return the outline of the files with these names."""
        digests = {name: _digest(name, content) for name, content in self.contents.items()}
        files = [self._outline(name, digests[name]) for name in self.contents if name in names]
        if self.made:
            kept = {digest: self.known[digest] for digest in digests.values() if digest in self.known}
            _write_cache(self.root, kept | self.made)
        return CatalogOutline(self.root, tuple(files), tuple(self.unreadable))

    def _outline(self, name: str, digest: str) -> FileOutline:
        stored = self.known.get(digest) or self.made.get(digest)
        if stored is not None:
            return read_document(FileOutline, stored)
        outline = outline_file(self.contents[name], name)
        self.made[digest] = write_document(outline)
        return outline


def _digest(name: str, content: bytes) -> str:
    return hashlib.sha256(name.encode() + b"\0" + content).hexdigest()


def read_catalog_outline(root: Path, project: str | None = None) -> CatalogOutline:
    """Return the outline of a catalog folder, or of as much of it as one project's DAG needs."""
    if (missing := check_folder(root)) is not None:
        raise DefinitionError(missing)
    reader = _Reader(root)
    reader.open()
    if project is not None:
        outline = reader.read(select_files(reader.contents, project))
        if outline.find_project(project) is not None:
            return outline
    return reader.read(reader.contents)


def _get_cache_path(root: Path) -> Path:
    folder = conf.get(SECTION, "parse_cache", fallback="") or os.path.join(find_home(), ".runtime", "parse_cache")
    key = hashlib.sha256(os.fsencode(root.absolute())).hexdigest()[:24]
    return Path(folder, f"{key}.json")


def _read_cache(root: Path) -> dict[str, Any]:
    """Return what earlier parses found; nothing when it cannot be read or another version wrote it."""
    try:
        document = json.loads(_get_cache_path(root).read_bytes())
        if document.get("version") == [_CACHE_FORMAT, __version__]:
            files: dict[str, Any] = document["files"]
            return files
    except (OSError, ValueError, KeyError, AttributeError):
        pass
    return {}


def _write_cache(root: Path, files: dict[str, Any]) -> None:
    path = _get_cache_path(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as target:
            json.dump({"version": [_CACHE_FORMAT, __version__], "files": files}, target)
        os.replace(target.name, path)
    except OSError as error:
        log.debug("the parse cache cannot be written: %s", error)
