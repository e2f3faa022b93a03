"""Which files a project needs, found by their text alone, so that a large catalog is not parsed for one project.

Only files that certainly hold nothing but datasets and projects, plainly written, are left out; all others are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.needs import (
    list_lookup_references,
    list_project_references,
    walk_references,
)
from airflow_provider_runtime.core.model.project import Project

TOP_LINE = re.compile(r"^(?=.)(?![ \t\r\n#]|(?:dataset|project):(?=\s)|---\s*$|\.\.\.\s*$)", re.MULTILINE)
"""A line that begins with anything but a comment, a marker, or one of the two kinds."""
NAMING = re.compile(
    r"""(?:^|[\s{,])(["']?)(id|name|(?:input_)?dataset_id|register_as_dataset)\1[ \t]*:(?=\s)[ \t]*(?=([^\r\n]*))""",
    re.MULTILINE,
)
QUOTED = re.compile(r"""\"([^\"\\]*)\"|'([^']*)'(?!')""")
PLAIN_END = re.compile(r"[,}\]]|\s#")
HARD = re.compile(r"""<<[ \t]*:|^[ \t]*\?[ \t]|["'][ \t]*:(?=\S)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Outline:
    """What a file seems to define and to refer to."""

    names: frozenset[str]
    references: frozenset[str]


def select_files(contents: Mapping[str, bytes], project: str) -> set[str]:
    """Return the names of the files that a project may need."""
    outlines = {name: _outline(data) for name, data in contents.items()}
    chosen = {name for name, outline in outlines.items() if outline is None}
    by_name: dict[str, list[str]] = {}
    for file, outline in outlines.items():
        for name in outline.names if outline is not None else ():
            by_name.setdefault(name, []).append(file)

    def follow(name: str) -> Iterator[str]:
        for file in by_name.get(name, ()):
            outline = outlines[file]
            if file not in chosen and outline is not None:
                chosen.add(file)
                yield from outline.references

    for _ in walk_references([project], follow):
        pass
    return chosen


def _outline(data: bytes) -> _Outline | None:
    """Return what a file is about, or None when only a parser would know."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if (not text.isprintable() and ("\u2028" in text or "\x85" in text)) or TOP_LINE.search(text) or HARD.search(text):
        return None
    names: set[str] = set()
    references: set[str] = set()
    for _, key, written in NAMING.findall(text):
        values = list(_read_values(written))
        if not values:
            return None
        if key != "name":
            references.update(values)
        if key in {"id", "name", "register_as_dataset"}:
            names.update(values)
        if key == "register_as_dataset":
            names.update(registered_dataset_id(value) for value in values)
    return _Outline(frozenset(names), frozenset(references))


def _read_values(written: str) -> Iterator[str]:
    """Yield what a value may be: a plain one may end at a comma or go on to the end of the line."""
    quoted = QUOTED.match(written)
    if quoted:
        yield quoted[1] or quoted[2] or ""
    elif written and written[0] not in "&*!|>\"'#[{":
        yield PLAIN_END.split(written, 1)[0].strip()
        yield re.split(r"\s#", written, maxsplit=1)[0].strip()


def has_all(catalog: Catalog, project: str) -> bool:
    """Whether a catalog holds a project and every dataset that it leads to."""
    versions = catalog.list_project_versions(project)
    start = [reference for version in versions for reference in _list_references(version.model)]
    return bool(versions) and all(
        catalog.is_broken("dataset", reference)
        or catalog.list_dataset_versions(reference)
        or catalog.find_registration(reference)
        for reference in walk_references(start, lambda reference: _follow(catalog, reference))
    )


def _follow(catalog: Catalog, reference: str) -> Iterator[str]:
    """Yield where a dataset leads: through its lookups, and through the project that registers it."""
    for dataset in catalog.list_dataset_versions(reference):
        yield from list_lookup_references(dataset.model)
    registration = catalog.find_registration(reference)
    if registration is not None:
        yield from _list_references(registration.project.model)


def _list_references(project: Project) -> list[str]:
    return [*list_project_references(project), *project.resolver_overrides]
