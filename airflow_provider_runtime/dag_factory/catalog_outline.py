"""The outline of a catalog folder, remembered by the content of its files."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_runtime import __version__
from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.errors import DefinitionError, Place, Problem
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar
from airflow_provider_runtime.core.suggest import suggest
from airflow_provider_runtime.dag_factory.outline import (
    FileOutline,
    ProjectOutline,
    dump_outline,
    load_outline,
    outline_file,
)
from airflow_provider_runtime.hooks.runtime import SECTION, find_home
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar

log = logging.getLogger(__name__)
_CACHE_FORMAT = 1


@dataclass(frozen=True)
class CatalogOutline:
    """What the files that were read define."""

    root: Path
    files: tuple[FileOutline, ...]

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
        """What could not be read."""
        return [problem for file in self.files for problem in file.list_problems()]

    def get_project(self, reference: str) -> ProjectOutline:
        """Return a project by id or name, or raise PROJECT_001 with what is wrong in the catalog besides."""
        for project in self.projects:
            if reference in (project.id, project.name):
                return project
        names = [project.name for project in self.projects]
        hint = suggest(reference, names) if names else "the catalog holds no project that can run"
        missing = Problem("PROJECT_001", f"project '{reference}' not found", hint, Place(file=str(self.root)))
        raise DefinitionError([missing, *self.problems])

    def get_calendar(self, project: ProjectOutline) -> Calendar:
        """Return a project's calendar, or raise CATALOG_004."""
        if project.calendar in self._calendars:
            return self._calendars[project.calendar]
        if project.calendar == GREGORIAN.id:
            return GREGORIAN
        place = Place(file=project.file, line=project.line, project=project.name, field="calendar")
        raise DefinitionError(Problem("CATALOG_004", f"calendar '{project.calendar}' not found", None, place))

    @cached_property
    def _calendars(self) -> dict[str, Calendar]:
        return {data["id"]: decode_calendar(data) for file in self.files for data in file.calendars}

    def list_upstream(self, project: ProjectOutline) -> list[tuple[str, ProjectOutline]]:
        """Return the registered datasets that a project reads, each with the project that registers it."""
        registered = {name: other for other in self.projects for name in other.registered}
        by_ref = {registered_dataset_id(name): name for name in registered} | {name: name for name in registered}
        found = dict.fromkeys(by_ref[ref] for ref in self._follow_lookups(project.reads) if ref in by_ref)
        return [(name, registered[name]) for name in found]

    def _follow_lookups(self, refs: Iterable[str]) -> Iterator[str]:
        seen: set[str] = set()
        waiting = list(refs)
        while waiting:
            ref = waiting.pop(0)
            if ref not in seen:
                seen.add(ref)
                yield ref
                waiting += [entry for dataset in self._datasets.get(ref, ()) for entry in dataset]

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
    contents: list[tuple[str, str, bytes]] = field(default_factory=list)
    outlines: dict[str, FileOutline] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    has_news: bool = False

    def open(self) -> None:
        self.known = _read_cache(self.root)
        for path, name in _find_files(self.root):
            content = path.read_bytes()
            digest = hashlib.sha256(name.encode() + b"\0" + content).hexdigest()
            self.contents.append((name, digest, content))

    def read_all(self) -> CatalogOutline:
        for name, digest, content in self.contents:
            self._read(name, digest, content)
        self._write_cache()
        return self._make()

    def read_for(self, reference: str) -> CatalogOutline:
        """Read the files that a project's DAG needs, found by the names in their text."""
        wanted, seen = {reference}, set[str]()
        while wanted - seen:
            names = [name.encode() for name in wanted - seen]
            seen |= wanted
            for name, digest, content in self.contents:
                if digest not in self.outlines and any(text in content for text in names):
                    self._read(name, digest, content)
            wanted |= self._list_needs(reference)
        self._write_cache()
        return self._make()

    def _list_needs(self, reference: str) -> set[str]:
        outline = self._make()
        for project in outline.projects:
            if reference in (project.id, project.name):
                needs = {project.calendar} - {GREGORIAN.id}
                if project.airflow.get("schedule") == "upstream":
                    # A dataset's id says nothing of its name, so every file that registers one is looked at.
                    needs |= {*project.reads, *outline._follow_lookups(project.reads), "register_as_dataset"}
                return needs
        return set()

    def _read(self, name: str, digest: str, content: bytes) -> None:
        if digest in self.outlines:
            return
        if digest in self.known:
            self.outlines[digest] = load_outline(self.known[digest])
            return
        self.outlines[digest] = outline_file(content, name)
        self.has_news = True

    def _make(self) -> CatalogOutline:
        found = (self.outlines.get(digest) for _, digest, _ in self.contents)
        return CatalogOutline(self.root, tuple(outline for outline in found if outline is not None))

    def _write_cache(self) -> None:
        if self.has_news:
            present = {digest for _, digest, _ in self.contents}
            kept = {digest: data for digest, data in self.known.items() if digest in present}
            kept |= {digest: dump_outline(outline) for digest, outline in self.outlines.items()}
            _write_cache(self.root, kept)


def read_catalog_outline(root: Path, project: str | None = None) -> CatalogOutline:
    """Return the outline of a catalog folder, or of as much of it as one project's DAG needs."""
    if not root.is_dir():
        raise DefinitionError(Problem("CATALOG_001", f"catalog folder {root} does not exist", None, Place(str(root))))
    reader = _Reader(root)
    reader.open()
    return reader.read_all() if project is None else reader.read_for(project)


def _find_files(root: Path) -> Iterator[tuple[Path, str]]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith((".yaml", ".yml")) and not name.startswith("."):
                path = Path(folder, name)
                yield path, path.relative_to(root).as_posix()


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
