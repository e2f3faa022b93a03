"""The rows that an operation takes: those of its selector, and of the origins that `from` names."""

from __future__ import annotations

from airflow_provider_runtime.core.expr.checker import Checked, check_tree
from airflow_provider_runtime.core.expr.nodes import ColumnRef, InList, Literal, Node
from airflow_provider_runtime.core.expr.scope import Scope
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.operation import AggregateOperation, AppendOperation, OutputOperation
from airflow_provider_runtime.core.model.schema import BOOLEAN
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.planning.check.origins import INPUT
from airflow_provider_runtime.core.suggest import list_names


def check_selection(
    context: OperationContext, operation: AggregateOperation | AppendOperation | OutputOperation, scope: Scope
) -> Checked | None:
    """Check selector and `from` of an operation, and return the condition that both make."""
    where = context.check_selector(operation.selector, scope, frozenset())
    if operation.from_ is None or operation.from_ == "all":
        return where
    seqs = (INPUT,) if operation.from_ == "loaded" else operation.from_
    _check_seqs(context, seqs)
    items: list[Node] = [Literal(seq, "integer") for seq in seqs]
    # A column of every working dataset, and whole numbers: nothing can be wrong with it.
    origins = check_tree(InList(ColumnRef(None, "_operation_seq"), items, False), scope).expression
    assert origins is not None
    return origins if where is None else _conjoin(where, origins)


def _check_seqs(context: OperationContext, seqs: tuple[int, ...]) -> None:
    """Report seqs of operations that do not make rows before this one."""
    operations = context.project.definition.model.operations
    makers = [found.seq for found in operations if found.type in ("aggregate", "append")]
    known = [INPUT, *sorted(seq for seq in makers if seq < context.operation.seq)]
    for position, seq in enumerate(seqs):
        if seq not in known:
            message = f"operation {seq} does not make rows before operation {context.operation.seq}"
            hint = f"rows come from: {list_names(map(str, known))} (0 is the input)"
            context.report("CATALOG_002", message, ("from", position), hint)


def _conjoin(left: Checked, right: Checked) -> Checked:
    nullable = left.nullable or right.nullable
    return Checked(
        Typed("and", BOOLEAN, nullable, (left.node, right.node)),
        BOOLEAN,
        nullable,
        left.columns | right.columns,
        left.aliases | right.aliases,
        False,
        left.selectors | right.selectors,
    )
