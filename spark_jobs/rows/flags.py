"""What is counted of a row, as bits: one column for sixty operations, so that a plan grows by no column for each.

A bit says that an operation touched or added the row. Whichever action computes the rows next counts the bits on its
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spark_jobs.contract.sql import quote_name

BITS_IN_COLUMN = 60
DELETED_BEFORE = "@d0"
MATCHED = "@m"
"""The one flag of all lookups, so that each is computed, whether anything uses its match or not."""


def touched_flag(seq: int) -> str:
    """Name of the flag that says which rows an operation touched."""
    return f"@t{seq}"


def matched_flag(seq: int, alias: str) -> str:
    """Name of the flag that says for which rows a join of an operation found a match."""
    return f"@j{seq}:{alias}"


def added_flag(seq: int) -> str:
    """Name of the flag that says which rows an operation added; 0 is the input."""
    return f"@a{seq}"


@dataclass(frozen=True, slots=True)
class Flags:
    """Columns with new flags, and the columns of the rows that they replace."""

    columns: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(slots=True)
class FlagRegister:
    """Gives every flag its bit."""

    _places: dict[str, int] = field(default_factory=dict)

    def list_columns(self, flags: Iterable[str]) -> list[str]:
        """Return the columns that hold these flags."""
        return list(dict.fromkeys(self._place(flag)[0] for flag in flags))

    def add(self, held: Iterable[str], new: Mapping[str, str]) -> Flags:
        """Return the columns of new flags, given by their conditions, together with those that the rows hold."""
        present = set(self.list_columns(held))
        terms: dict[str, list[str]] = {}
        for flag, condition in new.items():
            column, bit = self._place(flag)
            before = [f"coalesce(`@w`.{quote_name(column)}, 0L)"] if column in present else []
            terms.setdefault(column, before).append(f"IF({condition}, {1 << bit}L, 0L)")
        columns = tuple(f"{' | '.join(parts)} AS {quote_name(column)}" for column, parts in terms.items())
        return Flags(columns, tuple(column for column in terms if column in present))

    def build_count(self, flag: str) -> str:
        """Return SQL that counts the rows with a flag, NULL for no rows at all: a sum is cheaper than count_if."""
        column, bit = self._place(flag)
        return f"sum(shiftright({quote_name(column)}, {bit}) & 1L)"

    def _place(self, flag: str) -> tuple[str, int]:
        place = self._places.setdefault(flag, len(self._places))
        return f"@f{place // BITS_IN_COLUMN}", place % BITS_IN_COLUMN
