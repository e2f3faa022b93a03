"""The request for an approval: what would change for readers and the results of the checks, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_provider_runtime.core.registry.ports import RunRecord
from spark_jobs.contract.comparison import Comparison, OutputComparison, RowChange
from spark_jobs.contract.documents import find_document

MOST_SAMPLES = 5
_CONTROLS = str.maketrans(dict.fromkeys([*range(32), 127], " "))


def render_request(run: RunRecord) -> str:
    """Return what an approver has to know of a staged run."""
    report = run.report or {}
    lines = [
        f"{_escape(run.who or 'somebody')} ran **{_escape(run.project_name)}**, version {run.project_version}, for"
        f" **{_escape(run.period)}**: run `{_escape(run.run_id)}`."
    ]
    if run.staged_until is not None:
        lines.append(f"Its rows are kept until {run.staged_until:%Y-%m-%d %H:%M} UTC.")
    lines += ["", *_render_outputs(report), "", *_render_checks(report.get("checks") or ())]
    return "\n".join(lines).rstrip() + "\n"


def _render_outputs(report: Mapping[str, Any]) -> Iterator[str]:
    found = report.get("comparison")
    comparison = None if found is None else find_document(Comparison, found)
    if comparison is None:
        yield "#### Staged"
        yield ""
        yield from _table(
            ("output", "rows"),
            [(output["destination"], output["rows"]) for output in report.get("outputs") or ()],
        )
        yield ""
        yield "What would change for readers was not compared."
        return
    yield "#### What would change for readers"
    for output in comparison.in_order().outputs:
        yield ""
        yield from _render_output(output)


def _render_output(output: OutputComparison) -> Iterator[str]:
    key = f"by {', '.join(map(_escape, output.key))}" if output.key else "as a multiset: it has no key"
    yield f"**Output {output.seq}**, {_escape(output.destination)}, compared {key}"
    yield ""
    if not output.differs:
        yield f"Nothing differs: {output.rows_after} rows."
        return
    titles = ("rows published", "rows staged", "added", "removed", "changed", "same")
    counts = (output.rows_before, output.rows_after, output.added, output.removed, output.changed, output.same)
    yield from _table(titles, [counts])
    columns = [
        (column.name, column.changed, column.total_before, column.total_after, column.difference)
        for column in output.columns
        if column.differs
    ]
    if columns:
        yield ""
        yield from _table(("column", "changed", "total before", "total after", "difference"), columns)
    if output.sample:
        yield ""
        yield from _table(("", "row", "before", "after"), map(_describe_row, output.sample[:MOST_SAMPLES]))


def _describe_row(row: RowChange) -> Sequence[object]:
    return row.change, _list_values(row.key), _list_values(row.before or {}), _list_values(row.after or {})


def _list_values(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in values.items())


def _render_checks(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "#### Checks"
    yield ""
    if not checks:
        yield "The project has no checks."
        return
    rows = [(check["name"], check.get("output"), check["status"], check.get("message")) for check in checks]
    yield from _table(("check", "of output", "status", ""), rows)


def _table(titles: Sequence[str], rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield "|" + " --- |" * len(titles)
    for row in rows:
        yield "| " + " | ".join("" if value is None else _escape(str(value)) for value in row) + " |"


def _escape(text: str) -> str:
    """Return a text that Markdown shows as it is: a name or a value must not make a link or a cell."""
    shown = text.translate(_CONTROLS).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|~!#" else letter for letter in shown)
