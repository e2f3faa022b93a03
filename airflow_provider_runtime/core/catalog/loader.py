"""A folder of YAML files to a catalog, with everything that is wrong in any of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.collection import Collection
from airflow_provider_runtime.core.catalog.rules import check_catalog
from airflow_provider_runtime.core.catalog.rules_secrets import hide_logins
from airflow_provider_runtime.core.catalog.selection import has_all, select_files
from airflow_provider_runtime.core.catalog.yaml_source import (
    MAX_FILE_BYTES,
    ParsedFile,
    parse_bytes,
    parse_text,
)
from airflow_provider_runtime.core.errors import Place, Problem, raise_problems

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class LoadResult:
    """A catalog of all that could be read, and the problems of the rest."""

    catalog: Catalog
    problems: tuple[Problem, ...] = ()

    def get_catalog(self) -> Catalog:
        """Return the catalog; raise all problems if there are any."""
        raise_problems(self.problems)
        return self.catalog


def load_catalog(root: Path | str, *, project: str | None = None) -> LoadResult:
    """Read and check every definition below a folder, or with `project` at least those that this project needs."""
    root = Path(root)
    if not root.is_dir():
        message = "catalog folder does not exist" if not root.exists() else "catalog is not a folder"
        location = Place(file=str(root))
        problem = Problem("CATALOG_001", message, "name it with --catalog, or make one with init", location)
        return LoadResult(Catalog(root), (problem,))
    problems: list[Problem] = []
    files = list(find_files(root, problems))
    result = None
    if project is not None:
        result = load_needed(files, root, project)
    if result is None:
        result = build_catalog((parse_file(path, name) for path, name in files), root)
    return replace(result, problems=(*problems, *result.problems))


def load_needed(files: list[tuple[Path, str]], root: Path, project: str) -> LoadResult | None:
    """Return a catalog of the files that a project needs; None when that is not certain."""
    contents = {name: read_bytes(path, name) for path, name in files}
    chosen = select_files({name: data for name, data in contents.items() if isinstance(data, bytes)}, project)
    parsed = (
        parse_bytes(data, name) if isinstance(data, bytes) else data
        for name, data in contents.items()
        if name in chosen or not isinstance(data, bytes)
    )
    result = build_catalog(parsed, root)
    return result if has_all(result.catalog, project) else None


def load_texts(texts: dict[str, str], root: Path | str = ".") -> LoadResult:
    """Read and check definitions that are given as texts, by file name."""
    return build_catalog((parse_text(text, name) for name, text in texts.items()), Path(root))


def build_catalog(files: Iterable[ParsedFile], root: Path) -> LoadResult:
    """Make a catalog of parsed files and check it."""
    collection = Collection()
    for parsed in files:
        collection.read_file(parsed)
    return finish_catalog(collection.make_catalog(root), collection.problems)


def finish_catalog(catalog: Catalog, problems: list[Problem]) -> LoadResult:
    """Check a catalog across its documents and put all problems into the order of files and lines."""
    found = [hide_logins(problem) for problem in (*problems, *check_catalog(catalog))]
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


def parse_file(path: Path, name: str) -> ParsedFile:
    """Read and parse a file."""
    data = read_bytes(path, name)
    return parse_bytes(data, name) if isinstance(data, bytes) else data


def read_bytes(path: Path, name: str) -> bytes | ParsedFile:
    """Read a file; one that cannot be read is given as a parsed file with this problem."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a regular file")
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return ParsedFile(problems=[_refuse_unreadable("file", name, error)])


def _refuse_unreadable(what: str, name: str, error: OSError) -> Problem:
    reason = (error.strerror or str(error)).lower()
    return Problem("CATALOG_001", f"{what} cannot be read: {reason}", "check its permissions", Place(file=name))
