"""A folder of YAML files to a catalog, with everything that is wrong in any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.collection import Collection
from airflow_provider_runtime.core.catalog.files import check_folder, read_files
from airflow_provider_runtime.core.catalog.partly_read import PartlyRead
from airflow_provider_runtime.core.catalog.rules import check_catalog
from airflow_provider_runtime.core.catalog.rules_secrets import hide_logins
from airflow_provider_runtime.core.catalog.selection import has_all, select_files
from airflow_provider_runtime.core.catalog.yaml_source import ParsedFile, parse_bytes, parse_text
from airflow_provider_runtime.core.errors import Problem, raise_problems


@dataclass(frozen=True)
class LoadResult:
    """A catalog of all that could be read, and the problems of what could not."""

    catalog: Catalog
    problems: tuple[Problem, ...] = ()
    partly: tuple[PartlyRead, ...] = ()
    """Projects that are not in the catalog, as far as they could be read."""

    def get_catalog(self) -> Catalog:
        """Return the catalog; raise all problems if there are any."""
        raise_problems(self.problems)
        return self.catalog


def load_catalog(root: Path | str, *, project: str | None = None) -> LoadResult:
    """Read and check every definition below a folder, or with `project` at least those that this project needs."""
    root = Path(root)
    if (missing := check_folder(root)) is not None:
        return LoadResult(Catalog(root), (missing,))
    unreadable: list[Problem] = []
    files = read_files(root, unreadable)
    if project is None:
        result = build_catalog((parse_bytes(data, name) for name, data in files), root)
    else:
        result = load_needed(dict(files), root, project)
    return replace(result, problems=(*unreadable, *result.problems))


def load_needed(contents: Mapping[str, bytes], root: Path, project: str) -> LoadResult:
    """Return a catalog of the files that a project needs; of all files when it is not certain which these are."""
    chosen = select_files(contents, project)
    result = build_catalog((parse_bytes(data, name) for name, data in contents.items() if name in chosen), root)
    if has_all(result.catalog, project):
        return result
    return build_catalog((parse_bytes(data, name) for name, data in contents.items()), root)


def load_texts(texts: dict[str, str], root: Path | str = ".") -> LoadResult:
    """Read and check definitions that are given as texts, by file name."""
    return build_catalog((parse_text(text, name) for name, text in texts.items()), Path(root))


def build_catalog(files: Iterable[ParsedFile], root: Path) -> LoadResult:
    """Make a catalog of parsed files and check it."""
    collection = Collection()
    for parsed in files:
        collection.read_file(parsed)
    result = finish_catalog(collection.make_catalog(root), collection.problems)
    return replace(result, partly=tuple(collection.partly))


def finish_catalog(catalog: Catalog, problems: list[Problem]) -> LoadResult:
    """Check a catalog across its documents and put all problems into the order of files and lines."""
    found = [hide_logins(problem) for problem in (*problems, *check_catalog(catalog))]
    found.sort(key=lambda problem: (problem.location.file or "", problem.location.line, problem.location.column))
    return LoadResult(catalog, tuple(dict.fromkeys(found)))
