"""What one function of the language is: how it is called, what it means, in Spark and in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from airflow_provider_runtime.core.model.schema import DataType

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter
    from airflow_provider_runtime.core.expr.typed import Typed

MANY = 1_000_000
TypeRule = Callable[["Checker", "nodes.Call", "list[Typed]"], "Typed"]
SqlRule = Callable[["SqlWriter", "Typed"], tuple[int, str]]
NullRule = Literal["strict", "also", "own"]
_CALLED = re.compile(r"\b([a-z_]+)\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function: everything that the language knows of it."""

    name: str
    signature: str
    doc: str
    example: str
    takes: tuple[str, ...] = ()
    """What each argument must be (the last one holds for all that follow): a kind of type, number, moment or any."""
    least: int | None = None
    """How many arguments there are at least; without it, as many as `takes` has."""
    most: int | None = None
    """How many there are at most; without it, as many as `takes` has."""
    type: DataType | TypeRule
    """The result's type, or what makes the typed call of the typed arguments."""
    sql: str | SqlRule | None = None
    """Spark SQL with `{0}`, `{1}` and `{all}` for arguments between brackets and commas; None: not a call."""
    value: Callable[..., object] | None = None
    """The value in Python of the arguments' values; of functions that return them where the NULL rule is `own`."""
    null: NullRule = "strict"
    """NULL exactly when an argument is (`strict`), at other times too (`also`), or by its `own` rule."""
    can_fail: bool = False
    """Whether there are values for which a run fails; such a call carries the mark of its place."""
    calls: tuple[str, ...] = ()
    """Functions of Spark that a rule in `sql` calls, and words before its brackets; those of a text are found in it."""
    levels: int = 1
    """How many levels of nesting it counts for: its SQL may be deeper, and Spark parses that recursively."""
    known_as: tuple[str, ...] = ()
    """What other languages call it, for a hint to who writes that."""
    group_form: Literal["", "BY", "DESC BY", "ORDER BY"] = ""
    """Of a group function: what may follow its arguments."""
    breaks_ties: bool = False
    """Of a group function: whether the rows' ids decide where the order does not."""
    is_aggregate: bool = False
    is_of_run: bool = False
    """Whether it is a constant of the run, whose value the snapshot holds."""

    @property
    def fewest_arguments(self) -> int:
        """How many arguments there are at least."""
        return len(self.takes) if self.least is None else self.least

    @property
    def most_arguments(self) -> int:
        """How many arguments there are at most."""
        return len(self.takes) if self.most is None else self.most

    @property
    def spark_functions(self) -> frozenset[str]:
        """The functions of Spark that its SQL calls, in lower case."""
        found = _CALLED.findall(self.sql) if isinstance(self.sql, str) else ()
        return frozenset(name.lower() for name in (*found, *self.calls))

    def get_kind(self, index: int) -> str:
        """Return what an argument must be."""
        return self.takes[min(index, len(self.takes) - 1)]
