"""The checked tree: every conversion is written out, every node has its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_runtime.core.model.schema import DataType


@dataclass(slots=True)
class Typed:
    """A node of the checked tree; `op` names what it does and `value` holds what is constant in it."""

    op: str
    type: DataType
    nullable: bool
    args: Sequence[Typed] = ()
    value: object = None
    start: int = 0
    end: int = 0

    @property
    def is_simple(self) -> bool:
        """Whether its SQL is short enough to stand there twice."""
        inner = self
        while inner.op in ("cast", "negate") and inner.args:
            inner = inner.args[0]
        return inner.op in ("column", "literal")
