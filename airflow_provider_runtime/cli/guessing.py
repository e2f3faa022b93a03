"""Datasets guessed from files: names, types, decimals and temporal columns, from what the files show."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice
from pathlib import Path

import click

UTF_8 = "utf-8-sig"
MOST_ROWS = 100_000
LEAST_PRECISION, LEAST_SCALE, MOST_DIGITS = 18, 2, 38
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(?:\.(\d+))?")
_PERIOD_VALUE = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_PERIOD_NAMES = ("period", "_period", "fiscal_period", "month")
_FROM_TO = (("valid_from", "valid_to"), ("_period_from", "_period_to"), ("from_date", "to_date"))
_DATES = (
    ("day", re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)"), "{{YYYY}}-{{MM}}-{{DD}}"),
    ("month", re.compile(r"(?<!\d)\d{4}-(?:0[1-9]|1[0-2])(?!\d)"), "{{YYYY}}-{{MM}}"),
    ("month", re.compile(r"(?<!\d)\d{4}_(?:0[1-9]|1[0-2])(?!\d)"), "{{YYYY}}_{{MM}}"),
)
"""Level of the period that a file's name holds, how it looks, and the template for it."""


@dataclass(frozen=True, slots=True)
class GuessedColumn:
    """A column as it would be declared, and how sure that is."""

    name: str
    type: str
    precision: int | None = None
    scale: int | None = None
    remark: str = ""


@dataclass(slots=True)
class GuessedTable:
    """A dataset that a file, or several of the same kind, would be."""

    name: str
    path: str
    """Relative to the datasource, with templates in place of a period."""
    level: str | None
    """Level of the period that the file's name holds."""
    format: str
    options: dict[str, str]
    columns: list[GuessedColumn]
    temporal_mode: str = "snapshot"
    temporal_columns: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def guess_tables(files: Sequence[Path], root: Path) -> list[GuessedTable]:
    """Return the tables that files hold; those that differ in their period only are one."""
    groups: dict[tuple[str, str | None], list[Path]] = {}
    for file in files:
        level, path = _make_template(file.relative_to(root).as_posix())
        groups.setdefault((path, level), []).append(file)
    names: set[str] = set()
    return [_guess_table(found, path, level, names) for (path, level), found in groups.items()]


def _make_template(path: str) -> tuple[str | None, str]:
    for level, pattern, template in _DATES:
        if pattern.search(path):
            return level, pattern.sub(template, path)
    return None, path


def _guess_table(files: list[Path], path: str, level: str | None, names: set[str]) -> GuessedTable:
    newest = max(files)
    if newest.suffix.lower() == ".parquet":
        table = GuessedTable(_name(path, names), path, level, "parquet", {}, _read_parquet(newest))
    else:
        options, columns = _read_csv(files)
        table = GuessedTable(_name(path, names), path, level, "csv", options, columns)
    unusable = [column.name for column in table.columns if NAME.fullmatch(column.name) is None]
    table.columns = [column for column in table.columns if column.name not in unusable]
    table.remarks += [f"column '{name}' is left out: rename it, names are letters, digits and _" for name in unusable]
    if not table.columns:
        raise click.UsageError(f"{newest} has no column that a dataset can declare")
    _guess_time(table)
    return table


def _name(path: str, names: set[str]) -> str:
    """Return a name for the table: the file's without its period, or the folder's."""
    place = Path(re.sub(r"\{\{\w+\}\}", "", path))
    words = [re.sub(r"\W+", "_", part, flags=re.ASCII).strip("_") for part in (place.stem, *place.parts[-2::-1])]
    word = next((found for found in words if found), "data").lower()
    word = word if NAME.fullmatch(word) else f"t_{word}"
    name, number = word, 2
    while name in names:
        name, number = f"{word}_{number}", number + 1
    names.add(name)
    return name


def _guess_time(table: GuessedTable) -> None:
    """Guess how rows belong to periods: by a period column, a pair of days, or the name of the file."""
    by_name = {column.name.lower(): column for column in table.columns}
    for first, last in _FROM_TO:
        if first in by_name and last in by_name and {by_name[first].type, by_name[last].type} <= {"date", "string"}:
            table.temporal_mode = "bitemporal"
            table.temporal_columns = {"from": by_name[first].name, "to": by_name[last].name}
    period = next((by_name[name] for name in _PERIOD_NAMES if name in by_name), None)
    if table.temporal_mode == "snapshot" and period is not None and "period" in period.remark:
        table.temporal_mode, table.temporal_columns = "period", {"period": period.name}
    elif table.temporal_mode == "snapshot" and table.level is not None:
        table.temporal_mode = "period"
    temporal = set(table.temporal_columns.values())
    table.columns = [column for column in table.columns if column.name not in temporal] or table.columns


def _read_parquet(file: Path) -> list[GuessedColumn]:
    from airflow_provider_runtime.core.tables.parquet_schema import read_parquet_columns

    known = ("string", "integer", "decimal", "boolean", "date", "timestamp")
    columns = []
    for name, kind, precision, scale in read_parquet_columns(file):
        if kind in known:
            columns.append(GuessedColumn(name, kind, precision, scale))
        else:
            columns.append(GuessedColumn(name, "string", remark=f"the file has {kind}: choose a type that fits"))
    return columns


def _read_csv(files: Sequence[Path]) -> tuple[dict[str, str], list[GuessedColumn]]:
    header: list[str] = []
    options: dict[str, str] = {}
    values: list[set[str]] = []
    sniffed = [_sniff(file) for file in files]
    encoding = next((found for found, _ in sniffed if found != UTF_8), UTF_8)
    for file, (_, delimiter) in zip(files, sniffed, strict=True):
        options = {"header": "true"}
        if delimiter != ",":
            options["delimiter"] = delimiter
        if encoding != UTF_8:
            options["encoding"] = encoding
        with file.open(encoding=encoding, errors="replace", newline="") as lines:
            reader = csv.reader(lines, delimiter=delimiter)
            found = next(reader, [])
            if header and found != header:
                raise click.UsageError(f"{file} has other columns than the files before it: give them one by one")
            header = found
            values = values or [set() for _ in header]
            for row in islice(reader, MOST_ROWS):
                for seen, value in zip(values, row, strict=False):
                    seen.add(value.strip())
    if len({name.lower() for name in header}) != len(header) or not header:
        raise click.UsageError(f"the first line of {file} is not a header: names of columns, each once")
    return options, [_guess_column(name, seen - {""}) for name, seen in zip(header, values, strict=True)]


def _sniff(file: Path) -> tuple[str, str]:
    """Return encoding and delimiter of a CSV file."""
    content = file.read_bytes()
    encoding = UTF_8
    try:
        first = content.decode(UTF_8).partition("\n")[0]
    except UnicodeDecodeError:
        encoding = "windows-1252"
        first = content.decode(encoding, "replace").partition("\n")[0]
    return encoding, max(",;\t|", key=lambda sign: first.count(sign))


def _guess_column(name: str, seen: set[str]) -> GuessedColumn:
    """Return a column by all its values: the narrowest type that every one of them fits."""
    if not seen:
        return GuessedColumn(name, "string", remark="no value seen")
    if all(value.lower() in ("true", "false") for value in seen):
        return GuessedColumn(name, "boolean")
    if all(_NUMBER.fullmatch(value) for value in seen):
        return _guess_number(name, seen)
    if all(_is(value, date.fromisoformat, 10) for value in seen):
        return GuessedColumn(name, "date")
    if all(_is(value, datetime.fromisoformat, 16) for value in seen):
        return GuessedColumn(name, "timestamp", remark="taken as UTC where no zone is written")
    if all(_PERIOD_VALUE.fullmatch(value) for value in seen):
        return GuessedColumn(name, "string", remark="looks like a period")
    if all(re.fullmatch(r"-?[\d.]*,\d+", value) for value in seen):
        return GuessedColumn(name, "string", remark="numbers with a comma: convert with NUMBER(REPLACE(…))")
    return GuessedColumn(name, "string")


def _guess_number(name: str, seen: set[str]) -> GuessedColumn:
    matches = [found for value in seen if (found := _NUMBER.fullmatch(value)) is not None]
    whole = max(len(found[1]) for found in matches)
    scale = max(len(found[2] or "") for found in matches)
    if scale == 0:
        if whole <= LEAST_PRECISION:
            return GuessedColumn(name, "integer")
        return GuessedColumn(name, "string", remark="digits only, too many for an integer")
    seen_scale, scale = scale, max(scale, LEAST_SCALE)
    # Room for larger amounts than those that were seen.
    precision = min(MOST_DIGITS, max(LEAST_PRECISION, whole + scale + 3))
    remark = f"digits seen before the point: {whole}, after it: {seen_scale}"
    return GuessedColumn(name, "decimal", precision, min(scale, precision), remark)


def _is(value: str, read: object, least: int) -> bool:
    try:
        read(value)  # type: ignore[operator]
    except ValueError:
        return False
    return len(value) >= least
