"""The history of rows as sentences that can be read aloud, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from airflow_provider_runtime.core.evidence.comparison import show_value
from airflow_provider_runtime.core.evidence.why import find_selector
from airflow_provider_runtime.core.runs.published import FoundRun
from spark_jobs.contract.comparison import Values
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.why import LOADED, Change, Group, History, JoinMatch, OutputProof, RowHistory, Step

WIDTH = 80
BOLD, GREEN, RED, RESET = "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[0m"


def write_history(snapshot: Snapshot, found: FoundRun, history: History, *, color: bool = False) -> str:
    """Return the story of every row, after what run it is about."""
    lines = [*_wrap(_write_run(snapshot, found))]
    for row in history.rows:
        lines += ["", *_RowStory(snapshot, row, found, color).write()]
    if history.has_more:
        lines += ["", *_wrap(f"There are more rows than these {len(history.rows)}; --limit shows more.")]
    lines += ["", *_write_sources(history)]
    return "\n".join(lines)


def _write_run(snapshot: Snapshot, found: FoundRun) -> str:
    run = f"{snapshot.project.name}, {snapshot.period.identifier}, run {found.record.run_id}"
    if found.published_at is None:
        return f"{run}: staged, and not published yet."
    line = f"{run}: published {_show_moment(found.published_at)}."
    if found.replaced_by is not None:
        replaced = found.replaced_by
        line += f" Run {replaced.run_id} has taken its place {_show_moment(replaced.published_at)}."
    return line


def _write_sources(history: History) -> Iterator[str]:
    if not history.changed_sources:
        yield "The sources are as the run has read them."
        return
    yield "Changed since the run has read them:"
    yield from (f"  {file}" for file in history.changed_sources)


class _RowStory:
    """The story of one row."""

    def __init__(self, snapshot: Snapshot, row: RowHistory, found: FoundRun, color: bool) -> None:
        self._snapshot = snapshot
        self._row = row
        self._found = found
        self._color = color

    def write(self) -> Iterator[str]:
        """Return the lines of the story."""
        yield self._paint(f"Row {self._row.row_id}", BOLD)
        outputs = {proof.seq: proof for proof in self._row.outputs}
        first, *steps = self._row.steps
        yield from self._write_made(first)
        later: dict[int, Step | OutputProof] = {step.seq: step for step in steps}
        later |= {seq: proof for seq, proof in outputs.items() if seq > first.seq}
        is_deleted = dict(_list_values(first)).get("_deleted") == "true"
        for _, event in sorted(later.items()):
            if isinstance(event, OutputProof):
                yield from self._write_output(event, is_deleted)
            elif not is_deleted:
                yield from self._write_step(event)
                is_deleted = event.type == "delete" and event.touched

    def _write_made(self, step: Step) -> Iterator[str]:
        origin = self._row.origin
        dataset = f"version {origin.version} of the dataset {origin.dataset_id}"
        if step.type == LOADED:
            yield from _wrap(f"  It was read from {origin.file or 'its source'}, {dataset}:")
        elif step.type == "append" and step.group is None:
            yield from _wrap(f"  {_name(step)} appended it from {origin.file or 'its source'}, {dataset}:")
        else:
            source = f", from {dataset}" if step.type == "append" else ""
            yield from _wrap(f"  {_name(step)} made it{source}:")
        shown = {
            change.column: change.after
            for change in step.changes
            if change.column not in SYSTEM_TYPES and change.after is not None
        }
        yield from _list_columns(shown)
        if step.group is not None:
            yield from self._write_group(step.group, "stands for")

    def _write_step(self, step: Step) -> Iterator[str]:
        if not step.touched:
            selector = find_selector(self._snapshot, step.seq)
            why = "" if selector is None else f": {selector} is not true for it"
            yield from _wrap(f"  {_name(step)} left it as it was{why}.")
            return
        if step.type == "aggregate":
            yield from _wrap(f"  {_name(step)} counted it in a group.")
        else:
            yield from _wrap(f"  {_name(step)} {'deleted' if step.type == 'delete' else 'changed'} it.")
        for join in step.joins:
            yield from _write_join(join)
        if step.type == "update":
            yield from _write_changes(step.changes)
        if step.group is not None:
            yield from self._write_group(step.group, "went into")

    def _write_group(self, group: Group, verb: str) -> Iterator[str]:
        key = ", ".join(f"{name} {_show(value)}" for name, value in group.key.items()) or "of all rows"
        rows = f"{group.rows:,} row" + "s" * (group.rows != 1)
        yield from _wrap(f"      It {verb} the group {key}: {rows}.")
        columns = dict.fromkeys(found.column for found in group.contributions)
        for column in columns:
            yield from _wrap(f"      The largest contributions to {column}:")
            for found in group.contributions:
                if found.column == column:
                    own = " (this row)" if found.row_id == self._row.row_id else ""
                    yield f"        {found.value:>20}  {found.row_id or 'a row of the source'}{own}"

    def _write_output(self, proof: OutputProof, is_deleted: bool) -> Iterator[str]:
        operation = next(each for each in self._snapshot.plan.outputs if each.seq == proof.seq)
        name = f"Output {proof.seq}, {operation.name}, to {operation.destination.display}"
        if not proof.selected:
            yield from _wrap(f"  {name}, left it out: {self._find_reason(operation, is_deleted)}.")
            return
        yield from _wrap(f"  {name}, picked it.")
        place = "staged" if self._found.published_at is None else "published"
        if proof.equal:
            yield self._paint(f"      The {place} row is the same.", GREEN)
        elif not proof.published:
            yield from _wrap(self._paint(f"      It is not among the {place} rows.", RED))
        else:
            yield self._paint(f"      The {place} row differs:", RED)
            for found in proof.differences:
                difference = f"{found.column} is {_show(found.published)}, replayed it is {_show(found.replayed)}"
                yield from _wrap(f"        {difference}")

    def _find_reason(self, operation: OutputOperation, is_deleted: bool) -> str:
        if is_deleted and not operation.include_deleted:
            return "it is deleted"
        selector = find_selector(self._snapshot, operation.seq)
        return "it takes rows of other operations" if selector is None else f"{selector} is not true for it"

    def _paint(self, text: str, shade: str) -> str:
        return f"{shade}{text}{RESET}" if self._color else text


def _name(step: Step) -> str:
    place = f" ({step.file}, line {step.line})" if step.file else ""
    return f"Operation {step.seq}, {step.name}{place},"


def _write_join(join: JoinMatch) -> Iterator[str]:
    if join.match is None:
        yield from _wrap(f"      {join.alias}: nothing was found.")
        return
    values = ", ".join(f"{name} {_show(value)}" for name, value in join.match.items())
    yield from _wrap(f"      {join.alias}: found {values or 'a row'}.")


def _write_changes(changes: tuple[Change, ...]) -> Iterator[str]:
    for change in changes:
        if change.column in SYSTEM_TYPES:
            continue
        same = change.before == change.after
        moved = f"stayed {_show(change.after)}" if same else f"{_show(change.before)} became {_show(change.after)}"
        because = "" if change.expression is None else f", by {' '.join(change.expression.split())}"
        yield from _wrap(f"      {change.column}: {moved}{because}.")


def _list_columns(values: Mapping[str, str | None]) -> Iterator[str]:
    width = max(map(len, values), default=0)
    for name, value in values.items():
        yield _cut(f"      {name.ljust(width)}  {_show(value)}")


def _list_values(step: Step) -> Values:
    return {change.column: change.after for change in step.changes}


def _show(value: str | None) -> str:
    return show_value(value) or '""'


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _wrap(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(
        text.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def _show_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("on %Y-%m-%d at %H:%M UTC")
