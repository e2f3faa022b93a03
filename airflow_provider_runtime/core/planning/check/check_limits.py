"""What a check's rows and values are held to: constants, limits and tolerances, as the YAML has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_runtime.core.expr.datatypes import NUMERIC
from airflow_provider_runtime.core.model.check import Change, Check
from airflow_provider_runtime.core.model.schema import DataType, make_decimal
from airflow_provider_runtime.core.planning.check.amounts import find_constant, find_limit, is_ordered
from airflow_provider_runtime.core.planning.check.checked import CheckedChange, Limit, Path

COMPARED_KINDS = frozenset({"integer", "decimal", "string", "date", "timestamp"})
COUNTED_KINDS = frozenset({"integer", "decimal", "date"})
"""Kinds whose values differ by an amount; dates by days."""
NUMBER = make_decimal()


@dataclass(frozen=True, slots=True)
class LimitReader:
    """Reads the limits of one check; `report` takes a message, the place, a hint and a code."""

    check: Check
    path: Path
    report: Callable[..., None]

    def read_at_most(self) -> Limit:
        """Return how many failing rows are tolerated."""
        limit = find_limit(self.check.at_most)
        is_wrong = limit is None or limit.amount.startswith("-")
        if limit is not None and limit.is_percent:
            is_wrong = is_wrong or not is_ordered(limit.amount, "100", NUMBER)
        elif limit is not None:
            is_wrong = is_wrong or "." in limit.amount
        if limit is None or is_wrong:
            message = f"at_most: '{self.check.at_most}' is neither a number of rows nor a percentage of them"
            self.report(message, (*self.path, "at_most"), 'write a whole number such as 5, or "0.1%"')
            return Limit("0")
        return limit

    def check_kind(self, found: DataType, path: Path, kinds: frozenset[str]) -> bool:
        """Report EXPR_004 when values of a type cannot be compared; False when they cannot."""
        if found.kind in kinds:
            return True
        known = "numbers, dates, timestamps and texts" if kinds is COMPARED_KINDS else "numbers and dates"
        self.report(f"only {known} can be compared here, this is {found}", path, None, "EXPR_004")
        return False

    def read_constant(self, text: str, data_type: DataType, path: Path) -> str | None:
        """Return a constant as values of the type are written."""
        found = find_constant(text, data_type)
        if found is None:
            noun = "number" if data_type.kind in NUMERIC else data_type.kind
            hint = f"write a {noun}"
            if "(" in text:
                hint = f"for another value write {{input: {text[:60]}}}, or {{output: SEQ, value: …}}"
            self.report(f"'{text[:60]}' is not a {noun}, as the value is", path, hint, "EXPR_004")
        return found

    def _read_amount(self, text: str, path: Path, data_type: DataType) -> Limit | None:
        limit = find_limit(text)
        if limit is None:
            self.report(f"'{text[:60]}' is neither a number nor a percentage", path, 'write it like 0.01 or "1%"')
        elif data_type.kind == "date" and (limit.is_percent or "." in limit.amount):
            self.report("dates differ by whole days", path, "write a whole number of days")
        return limit

    def read_tolerance(self, data_type: DataType) -> Limit:
        """Return how far the value may be from what it is compared with."""
        text, path = self.check.tolerance, (*self.path, "tolerance")
        if text is None or not self.check_kind(data_type, path, COUNTED_KINDS):
            return Limit("0")
        limit = self._read_amount(text, path, data_type)
        if limit is not None and limit.amount.startswith("-"):
            self.report("a tolerance is not negative", path, "remove the sign")
        return limit or Limit("0")

    def read_between(self, data_type: DataType) -> tuple[str, str] | None:
        """Return the least and the greatest value."""
        ends, path = self.check.between, (*self.path, "between")
        if ends is None:
            return None
        if len(ends) != 2:
            self.report(f"between has two ends, found {len(ends)}", path, "write [least, greatest]")
            return None
        least, most = (self.read_constant(end, data_type, (*path, n)) for n, end in enumerate(ends))
        if least is None or most is None:
            return None
        if not is_ordered(least, most, data_type):
            self.report(f"no value is between {least} and {most}", path, "write the smaller one first")
        return least, most

    def read_change(self, change: Change | None, data_type: DataType) -> CheckedChange | None:
        """Return how far the value may be from an earlier one."""
        path: Path = (*self.path, "change")
        if change is None or not self.check_kind(data_type, (*self.path, "value"), COUNTED_KINDS):
            return None
        if change.from_ is None and change.to is None:
            self.report("change has no limit", path, "add from or to, such as {from: -20%, to: 20%}")
        least = None if change.from_ is None else self._read_amount(change.from_, (*path, "from"), data_type)
        most = None if change.to is None else self._read_amount(change.to, (*path, "to"), data_type)
        is_alike = least is not None and most is not None and least.is_percent == most.is_percent
        if least is not None and most is not None and is_alike and not is_ordered(least.amount, most.amount, NUMBER):
            message = f"no change is between {change.from_} and {change.to}"
            self.report(message, path, "write the smaller one as from")
        return CheckedChange(change.since, least, most)
