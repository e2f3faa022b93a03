"""Which rows a selector can pick, by where they come from: the input, or the operation that made them.

`_operation_seq = 0` is how a project speaks of the rows that it has loaded. What is known of that before any data is
read keeps the job from computing rows that are not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_runtime.core.expr.evaluator import Row, decide
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject

INPUT = 0
"""The `_operation_seq` of rows that were loaded."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Origins that a selector may pick rows of, and whether it picks all live rows of them."""

    seqs: tuple[int, ...] | None = None
    is_whole: bool = False


def find_origins(checked: CheckedProject, operation: CheckedOperation, run: RunConstants | None) -> Origins:
    """Return what an operation's selector says of origins, in a run or, with None, in any."""
    if operation.where is None:
        return Origins()
    answers = {}
    for seq, dataset_id in _list_origins(checked, operation.seq):
        row: Row = {(None, "_operation_seq"): seq, (None, "_source_dataset"): dataset_id}
        answers[seq] = decide(operation.where, row, run=run)
    if None in answers.values() and False not in answers.values():
        return Origins()
    picked = tuple(seq for seq, answer in answers.items() if answer is not False)
    return Origins(picked, None not in answers.values())


def _list_origins(checked: CheckedProject, before: int) -> Iterable[tuple[int, str]]:
    """Return the origins of rows before an operation, with what is in their `_source_dataset`."""
    assert checked.input is not None
    input_id = checked.input.dataset.model.id
    yield INPUT, input_id
    for operation in checked.operations:
        if operation.seq >= before:
            return
        if operation.operation.type == "aggregate":
            yield operation.seq, input_id
        elif operation.source is not None:
            yield operation.seq, operation.source.dataset.model.id
