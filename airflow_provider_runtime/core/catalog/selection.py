"""Which files a project needs, told from their text alone: a large catalog is not parsed for one project.

Only files that surely hold nothing but datasets and projects, written plainly, are ever left out; the rest is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.model.dataset import Dataset, DatasetTarget
from airflow_provider_runtime.core.model.operation import AppendOperation, UpdateOperation
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
    waiting, seen = [project], {project}
    while waiting:
        for file in by_name.get(waiting.pop(), ()):
            outline = outlines[file]
            if file not in chosen and outline is not None:
                chosen.add(file)
                waiting += outline.references - seen
                seen |= outline.references
    return chosen


def _outline(data: bytes) -> _Outline | None:
    """Return what a file is about, or None when only a parser can tell."""
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
    if not versions:
        return False
    waiting = [reference for version in versions for reference in _list_references(version)]
    seen = set(waiting)
    while waiting:
        reference = waiting.pop()
        if catalog.is_broken("dataset", reference):
            continue
        found = [name for dataset in catalog.list_dataset_versions(reference) for name in _list_lookups(dataset)]
        registration = catalog.find_registration(reference)
        if registration is not None:
            found += _list_references(registration.project)
        elif not catalog.list_dataset_versions(reference):
            return False
        waiting += [name for name in found if name not in seen]
        seen.update(found)
    return True


def _list_lookups(definition: Definition[Dataset]) -> list[str]:
    return [lookup.target.id for lookup in definition.model.lookups if isinstance(lookup.target, DatasetTarget)]


def _list_references(definition: Definition[Project]) -> list[str]:
    found = [definition.model.input_dataset_id, *definition.model.resolver_overrides]
    for operation in definition.model.operations:
        if isinstance(operation, UpdateOperation):
            found += [join.dataset_id for join in operation.arguments.joins]
        elif isinstance(operation, AppendOperation):
            found.append(operation.arguments.source.dataset_id)
    return found
