"""How two definitions of a project differ: in which operations, and in which columns of which outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.model.operation import Operation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.stale.signatures import OutputSignature, sign_outputs

_ONLY_FOR_PEOPLE = {"id", "name", "description"}


@dataclass(frozen=True, slots=True)
class OutputChange:
    """An output that a definition makes differently now."""

    seq: int
    columns: tuple[str, ...]
    registers: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """What differs between two definitions of a project."""

    operations: tuple[str, ...]
    """The operations that were added, removed or changed, as people speak of them."""
    outputs: tuple[OutputChange, ...]


def compare_definitions(before: CheckedProject, after: CheckedProject) -> DefinitionChange:
    """Return which operations differ, and which outputs give other values because of it."""
    old, new = sign_outputs(before), sign_outputs(after)
    outputs = [change for seq, signature in new.items() if (change := _compare(old.get(seq), signature)) is not None]
    outputs += [
        OutputChange(seq, tuple(signature.columns), signature.registers, "removed")
        for seq, signature in old.items()
        if seq not in new
    ]
    return DefinitionChange(_list_changed(before.definition.model, after.definition.model), tuple(outputs))


def _compare(before: OutputSignature | None, after: OutputSignature) -> OutputChange | None:
    every = tuple(after.columns)
    if before is None:
        return OutputChange(after.seq, every, after.registers, "added")
    if before.target != after.target:
        return OutputChange(after.seq, every, after.registers, "goes elsewhere")
    if before.rows.digest != after.rows.digest:
        return OutputChange(after.seq, every, after.registers, "other rows")
    names = {**after.columns, **before.columns}
    changed = tuple(name for name in names if _get_digest(before, name) != _get_digest(after, name))
    if changed:
        return OutputChange(after.seq, changed, after.registers, "other values")
    if every != tuple(before.columns):
        return OutputChange(after.seq, every, after.registers, "another order of columns")
    return None


def _get_digest(signature: OutputSignature, column: str) -> str | None:
    trace = signature.columns.get(column)
    return None if trace is None else trace.digest


def _list_changed(before: Project, after: Project) -> tuple[str, ...]:
    old, new = _by_seq(before), _by_seq(after)
    found = []
    for seq in sorted({*old, *new}):
        if seq not in old:
            found.append(f"operation {seq} '{new[seq].name}' added")
        elif seq not in new:
            found.append(f"operation {seq} '{old[seq].name}' removed")
        elif _dump(old[seq], before.selectors) != _dump(new[seq], after.selectors):
            found.append(f"operation {seq} '{new[seq].name}' changed")
    return tuple(found)


def _by_seq(project: Project) -> dict[int, Operation]:
    return {operation.seq: operation for operation in project.operations}


def _dump(operation: Operation, selectors: Mapping[str, str]) -> str:
    text = operation.model_dump_json(by_alias=True, exclude=_ONLY_FOR_PEOPLE)
    used = {name: selectors[name] for name in sorted(selectors) if "{{" + name + "}}" in text}
    return f"{text}{used}"
