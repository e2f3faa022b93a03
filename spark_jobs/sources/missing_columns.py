"""What is said of columns that a source does not have, and what the reason may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_jobs.contract.options import get_option

if TYPE_CHECKING:
    from spark_jobs.sources.raw_rows import RawRows

_MOST_NAMED = 8
_DELIMITERS = {";": ";", "\t": "\\t", "|": "|", ",": ","}


def describe_missing(missing: list[str], rows: RawRows) -> tuple[str, str | None]:
    """Return a sentence with the columns that are missing and those that are there, and a hint if there is one."""
    present = rows.frame.columns
    what = f"column {_list(missing)} is missing" if len(missing) == 1 else f"columns {_list(missing)} are missing"
    has = "the table has" if rows.location.kind == "jdbc" else "the data have"
    return f"{what}; {has} {_list(present) or 'no columns'}", _suspect(missing, present, rows)


def _suspect(missing: list[str], present: list[str], rows: RawRows) -> str | None:
    if rows.location.format == "csv":
        if (get_option(rows.options, "header") or "").lower() != "true":
            return f"without a header a file must have as many columns as are declared; it has {len(present)}"
        delimiter = next((sign for sign in _DELIMITERS if len(present) == 1 and sign in present[0]), None)
        if delimiter is not None:
            option = f'`delimiter: "{_DELIMITERS[delimiter]}"`'
            return f"its values seem to be separated by another character: set the datasource option {option}"
    spellings = {name.strip().lower(): name for name in present}
    other = next((spellings[name.lower()] for name in missing if name.lower() in spellings), None)
    return None if other is None else f"write the name exactly as it is there, '{other}': case and blanks count"


def _list(names: Iterable[str]) -> str:
    every = [f"'{name}'" for name in names]
    more = len(every) - _MOST_NAMED
    return ", ".join(every[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
