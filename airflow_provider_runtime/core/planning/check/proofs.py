"""What the operations of a project guarantee, so that no check has to look."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.typed import split_conjunction
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject
from airflow_provider_runtime.core.planning.check.origins import find_origins


def is_always_true(condition: Checked) -> bool:
    """Whether a condition only asks that columns are not NULL that never are."""
    return all(
        node.op == "is_null" and node.value and not node.args[0].nullable for node in split_conjunction(condition.node)
    )


def is_key_of_groups(
    checked: CheckedProject, output: CheckedOperation, columns: Sequence[str], run: RunConstants
) -> bool:
    """Whether these columns hold the keys of the groups that one aggregate alone has made the output's rows of."""
    keys = find_group_key(checked, output, run)
    return keys is not None and set(keys) <= set(columns)


def find_group_key(checked: CheckedProject, output: CheckedOperation, run: RunConstants) -> tuple[str, ...] | None:
    """Return the keys of the groups that one aggregate alone has made the output's rows of, if nothing changed them."""
    origins = find_origins(checked, output, run).seqs
    if origins is None or len(origins) != 1:
        return None
    maker = next((operation for operation in checked.operations if operation.seq == origins[0]), None)
    if maker is None or maker.operation.type != "aggregate":
        return None
    between = (operation for operation in checked.operations if maker.seq < operation.seq < output.seq)
    changed = {
        item.column for operation in between if operation.operation.type == "update" for item in operation.expressions
    }
    return None if changed & set(maker.group_by) else maker.group_by
