"""Compares what a scenario expects with what its run gave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.scenario import Expect, ExpectedCheck, ExpectedError, ExpectedOutput
from airflow_provider_runtime.core.suggest import list_names, suggest
from airflow_provider_runtime.scenarios.compare import Mismatch, compare_rows
from airflow_provider_runtime.scenarios.values import (
    ExpectedValueError,
    Value,
    normalise_row,
    read_value,
    show_value,
    to_text,
)
from spark_jobs.contract.checks import Check, CheckResult, describe_failure
from spark_jobs.contract.tables import Column


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """The columns and rows that an output operation wrote."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[object, ...]]


def compare_output(expected: ExpectedOutput, written: WrittenOutput | None, known: Sequence[int]) -> list[Mismatch]:
    """Compare one output; raise ExpectedValueError for an expectation that makes no sense."""
    seq = expected.operation
    if written is None:
        raise ExpectedValueError(
            f"operation {seq} is not an output of the project; outputs are: {list_names(map(str, known))}"
        )
    names = [column.name for column in written.columns]
    mismatches = []
    if expected.columns is not None and list(expected.columns) != names:
        message = f"expected columns {', '.join(expected.columns)}; found {', '.join(names)}"
        mismatches.append(Mismatch("columns", message, seq))
    if expected.row_count is not None and expected.row_count != len(written.rows):
        message = f"expected {expected.row_count} rows, found {len(written.rows)}"
        mismatches.append(Mismatch("row_count", message, seq))
    if expected.rows is not None:
        types = {column.name: column.type for column in written.columns}
        wanted = [_read_row(row, types) for row in expected.rows]
        actual = [normalise_row(dict(zip(names, row, strict=True))) for row in written.rows]
        mismatches += compare_rows(wanted, actual, match=expected.match, operation=seq)
    return mismatches


def compare_check(
    expected: ExpectedCheck, checks: Mapping[str, Check], results: Mapping[str, CheckResult]
) -> list[Mismatch]:
    """Compare the result of one check; raise ExpectedValueError for a check that the project does not have."""
    name = expected.name
    if name not in checks:
        raise ExpectedValueError(f"the project has no check '{name}'; {suggest(name, checks) or 'it has none'}")
    result = results.get(name)
    if result is None:
        return [Mismatch("check", f"check '{name}': the run failed before it was evaluated", checks[name].output)]
    wanted: dict[str, object] = {}
    found: dict[str, object] = {}
    if expected.status is not None:
        wanted["status"], found["status"] = expected.status, result.status
    if "value" in expected.model_fields_set:
        value = checks[name].value
        kind = "string" if value is None else value.type
        wanted["value"] = read_value(expected.value, f"check '{name}'", kind)
        found["value"] = read_value(result.value, f"check '{name}'", kind)
    if expected.failing_rows is not None:
        wanted["failing_rows"], found["failing_rows"] = expected.failing_rows, result.failing_rows
    return [
        Mismatch(
            "check",
            f"check '{name}': expected {key} {_show(entry)}, found {_show(found[key])}"
            + (f": {result.message}" if result.message else ""),
            result.output,
            {key: show_value(entry)},
            {key: show_value(found[key])},
        )
        for key, entry in wanted.items()
        if entry != found[key]
    ]


def compare_failures(expected: Expect, results: Mapping[str, CheckResult]) -> list[Mismatch]:
    """Return the checks that failed beside those that are listed, where an error is expected too.

    An error without a message may be about any check, unless the list says which one fails.
    """
    error = expected.error
    listed = {check.name for check in expected.checks}
    failed = [result for result in results.values() if result.status == "failed"]
    if error is None or not listed:
        return []
    if error.message is not None:
        unexpected = [result for result in failed if not re.search(error.message, describe_failure(result))]
    else:
        unexpected = failed if any(result.name in listed for result in failed) else []
    return [
        Mismatch("check", describe_failure(result), result.output) for result in unexpected if result.name not in listed
    ]


def _show(value: object) -> str:
    return "nothing" if value is None else str(show_value(value))


def _read_row(row: Mapping[str, object], types: Mapping[str, str]) -> dict[str, Value]:
    for name in row:
        if name not in types:
            raise ExpectedValueError(f"the output has no column '{name}'; {suggest(name, types)}")
    return {name: read_value(value, name, types[name]) for name, value in row.items()}


def compare_snapshot(expected: object, actual: object, path: str = "") -> list[Mismatch]:
    """Compare by the keys that are given, lists by position."""
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            return [_differ(path, "an object", actual)]
        return [
            mismatch
            for key, value in expected.items()
            for mismatch in compare_snapshot(value, actual.get(key), f"{path}.{key}" if path else str(key))
        ]
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(actual) < len(expected):
            found = f"{len(actual)} entries" if isinstance(actual, list | tuple) else actual
            return [_differ(path, f"at least {len(expected)} entries", found)]
        return [
            mismatch
            for index, value in enumerate(expected)
            for mismatch in compare_snapshot(value, actual[index], f"{path}[{index}]")
        ]
    return [] if to_text(expected) == to_text(actual) else [_differ(path, to_text(expected), actual)]


def _differ(path: str, expected: object, actual: object) -> Mismatch:
    shown = "nothing" if actual is None else str(actual)[:200]
    return Mismatch("snapshot", f"{path}: expected {'nothing' if expected is None else expected}, found {shown}")


def compare_error(expected: ExpectedError, problems: Sequence[Problem]) -> list[Mismatch]:
    """Succeed when any of the errors reported has the code, and a message that the pattern finds."""
    if any(
        problem.code == expected.code and (expected.message is None or re.search(expected.message, problem.message))
        for problem in problems
    ):
        return []
    wanted = expected.code + (f" with a message like '{expected.message}'" if expected.message else "")
    found = "; ".join(str(problem) for problem in problems[:8]) or "no error"
    return [Mismatch("error", f"expected {wanted}, found {found}")]
