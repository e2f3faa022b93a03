"""What would change if staged rows were published: rows and totals by output, as reports have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from spark_jobs.contract.documents import Between

RowCount = Annotated[int, Between(0, 2**63 - 1)]
Values = Mapping[str, str | None]
"""Values by column, exact and as text."""


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A column before and after."""

    name: str
    changed: RowCount = 0
    """Rows of the same key with another value."""
    total_before: str | None = None
    total_after: str | None = None
    """Sums of columns that hold numbers."""
    difference: str | None = None

    @property
    def differs(self) -> bool:
        """Whether values have changed, or their sum."""
        return self.changed > 0 or bool((self.difference or "0").strip("0.-"))


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that differs."""

    change: Literal["added", "removed", "changed"]
    key: Values = field(default_factory=dict)
    before: Values | None = None
    after: Values | None = None


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """An output before and after."""

    seq: int
    destination: str
    key: tuple[str, ...] = ()
    """Columns that say which row is which; none: rows are compared as a multiset."""
    rows_before: RowCount = 0
    rows_after: RowCount = 0
    added: RowCount = 0
    removed: RowCount = 0
    changed: RowCount = 0
    same: RowCount = 0
    columns: tuple[ColumnComparison, ...] = ()
    sample: tuple[RowChange, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether readers would see anything else."""
        return self.added + self.removed + self.changed > 0

    def in_order(self) -> OutputComparison:
        """Return it with the values of rows in the order of the output's columns: in JSON they have none."""
        names = (*self.key, *(column.name for column in self.columns))
        places = {name: place for place, name in reversed([*enumerate(names)])}

        def arrange(values: Values | None) -> Values | None:
            return (
                None
                if values is None
                else dict(sorted(values.items(), key=lambda item: places.get(item[0], len(places))))
            )

        sample = (
            RowChange(row.change, arrange(row.key) or {}, arrange(row.before), arrange(row.after))
            for row in self.sample
        )
        return replace(self, sample=tuple(sample))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All outputs before and after."""

    outputs: tuple[OutputComparison, ...] = ()

    def in_order(self) -> Comparison:
        """Return it with the values of rows in the order of the outputs' columns."""
        return Comparison(tuple(output.in_order() for output in self.outputs))

    @property
    def differs(self) -> bool:
        """Whether readers would see anything else."""
        return any(output.differs for output in self.outputs)
