"""Datasets guessed from files: names, types, decimals and temporal columns, from what the files show."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice
from pathlib import Path

import click

from spark_jobs.contract.system_columns import SYSTEM_TYPES

UTF_8 = "utf-8-sig"
MOST_ROWS = 100_000
LEAST_PRECISION, LEAST_SCALE, MOST_DIGITS = 18, 2, 38
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(?:\.(\d+))?")
_DIGITS = re.compile(r"[0-9]+")
_WITH_COMMAS = re.compile(r"-?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?")
_WITH_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})*(\.\d+)?")
_PERIOD_VALUE = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_PERIOD_NAMES = ("period", "_period", "fiscal_period", "month")
_DAY_FORMS = {
    "dd.MM.yyyy": "%d.%m.%Y",
    "dd/MM/yyyy": "%d/%m/%Y",
    "MM/dd/yyyy": "%m/%d/%Y",
    "yyyy/MM/dd": "%Y/%m/%d",
    "dd-MM-yyyy": "%d-%m-%Y",
}
"""Forms of days other than ISO: as Spark's option `dateFormat` names them, and as Python does."""
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
    newest: str | None = None
    """The last of its values, if they are periods."""


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
    newest: str | None = None
    """The last period that a file's name or a column of periods holds."""
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


def _find_period(path: str) -> str | None:
    """Return the period that a file's name holds."""
    found = next((match for _, pattern, _ in _DATES if (match := pattern.search(path))), None)
    return None if found is None else found[0].replace("_", "-")


def _guess_table(files: list[Path], path: str, level: str | None, names: set[str]) -> GuessedTable:
    newest = max(files)
    if newest.suffix.lower() == ".parquet":
        columns, remarks = _read_parquet(newest)
        table = GuessedTable(_name(path, names), path, level, "parquet", {}, columns, remarks=remarks)
    else:
        options, columns, remarks = _read_csv(files)
        table = GuessedTable(_name(path, names), path, level, "csv", options, columns, remarks=remarks)
    table.newest = _find_period(newest.as_posix())
    table.remarks += [remark for column in table.columns if (remark := _refuse_name(column.name)) is not None]
    table.columns = [column for column in table.columns if _refuse_name(column.name) is None]
    if not table.columns:
        raise click.UsageError(f"no column of {_show(newest)} can be declared: {'; '.join(table.remarks[:3])}")
    _guess_time(table)
    return table


def _refuse_name(name: str) -> str | None:
    """Say why a dataset cannot declare a column of this name."""
    if name.lower() in SYSTEM_TYPES:
        return f"column '{name}' is left out: it is a system column, which is kept as it is"
    if NAME.fullmatch(name) is None:
        return f"column '{name}' is left out: rename it in the file; names are letters, digits and _"
    return None


def _show(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


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
    if table.temporal_mode == "snapshot" and period is not None and period.newest is not None:
        table.temporal_mode, table.temporal_columns = "period", {"period": period.name}
        table.newest = table.newest or period.newest
    elif table.temporal_mode == "snapshot" and table.level is not None:
        table.temporal_mode = "period"
    temporal = set(table.temporal_columns.values())
    table.columns = [column for column in table.columns if column.name not in temporal] or table.columns


def _read_parquet(file: Path) -> tuple[list[GuessedColumn], list[str]]:
    from airflow_provider_runtime.core.tables.parquet_schema import read_parquet_columns

    known = ("string", "integer", "decimal", "boolean", "date", "timestamp")
    columns, remarks = [], []
    for name, kind, precision, scale in read_parquet_columns(file):
        if kind in known:
            columns.append(GuessedColumn(name, kind, precision, scale))
        else:
            remarks.append(f"column '{name}' is left out: no type of a dataset holds a {kind} exactly")
    return columns, remarks


def _read_csv(files: Sequence[Path]) -> tuple[dict[str, str], list[GuessedColumn], list[str]]:
    header: list[str] = []
    options = {"header": "true"}
    values: list[set[str]] = []
    remarks: list[str] = []
    sniffed = [_sniff(file) for file in files]
    encoding = next((found for found, _ in sniffed if found != UTF_8), UTF_8)
    for file, (_, delimiter) in zip(files, sniffed, strict=True):
        if delimiter != ",":
            options["delimiter"] = delimiter
        if encoding != UTF_8:
            options["encoding"] = encoding
        with file.open(encoding=encoding, errors="replace", newline="") as lines:
            reader = csv.reader(lines, delimiter=delimiter)
            try:
                found = next(reader, [])
                if not header:
                    _require_header(file, found)
                elif header != found:
                    raise click.UsageError(
                        f"{_show(file)} has other columns than {_show(files[0])}: give them one by one"
                    )
                header = found
                values = values or [set() for _ in header]
                last = reader.line_num
                for row in islice(reader, MOST_ROWS):
                    if reader.line_num > last + 1:
                        options["multiLine"] = "true"
                    last = reader.line_num
                    if row and len(row) != len(header) and not remarks:
                        line = f"line {reader.line_num} of {file.name} has {len(row)} values"
                        remarks.append(f"{line}, the header {len(header)}: a run stops there")
                    for seen, value in zip(values, row, strict=False):
                        seen.add(value.strip())
            except csv.Error as error:
                raise click.UsageError(f"{_show(file)}, line {reader.line_num}: {error}") from None
    form = _find_day_form(values)
    if form is not None:
        options["dateFormat"] = form
    return options, [_guess_column(name, seen - {""}, form) for name, seen in zip(header, values, strict=True)], remarks


def _require_header(file: Path, header: Sequence[str]) -> None:
    """Refuse a file whose first line does not name columns, each once."""
    if not any(header):
        raise click.UsageError(f"{_show(file)} is empty, or its first line is")
    if all(_NUMBER.fullmatch(name.strip()) for name in header):
        raise click.UsageError(f"the first line of {_show(file)} has numbers, not names of columns: add a header")
    seen: set[str] = set()
    for name in header:
        if name.lower() in seen:
            raise click.UsageError(
                f"the header of {_show(file)} has '{name}' twice (capitals do not count): rename one"
            )
        seen.add(name.lower())


def _sniff(file: Path) -> tuple[str, str]:
    """Return encoding and delimiter of a CSV file."""
    with file.open("rb") as content:
        first = content.readline()
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise click.UsageError(f"{_show(file)} is UTF-16: save it as UTF-8")
        content.seek(0)
        decoder = codecs.getincrementaldecoder(UTF_8)()
        encoding = UTF_8
        try:
            for chunk in iter(lambda: content.read(1 << 20), b""):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            encoding = "windows-1252"
    text = first.decode(encoding, "replace")
    return encoding, max(",;\t|", key=lambda sign: text.count(sign))


def _find_day_form(values: Sequence[set[str]]) -> str | None:
    """Return the one form other than ISO in which all columns of days are written; None where that is not clear."""
    forms = [found for seen in values if (found := _list_day_forms(seen - {""}))]
    if not forms or any(_is_all(seen - {""}, date.fromisoformat, 10) for seen in values):
        return None
    common = set.intersection(*map(set, forms))
    return common.pop() if len(common) == 1 else None


def _list_day_forms(seen: set[str]) -> list[str]:
    def reads_all(form: str) -> bool:
        return _is_all(seen, lambda text: datetime.strptime(text, form), 10)

    return [name for name, form in _DAY_FORMS.items() if reads_all(form)]


def _guess_column(name: str, seen: set[str], form: str | None) -> GuessedColumn:
    """Return a column by all its values: the narrowest type that every one of them fits."""
    if not seen:
        return GuessedColumn(name, "string", remark="no value seen")
    if all(value.lower() in ("true", "false") for value in seen):
        return GuessedColumn(name, "boolean")
    if all(_NUMBER.fullmatch(value) for value in seen):
        return _guess_number(name, seen)
    if _is_all(seen, date.fromisoformat, 10):
        return GuessedColumn(name, "date")
    if _is_all(seen, datetime.fromisoformat, 16):
        return GuessedColumn(name, "timestamp", remark="taken as UTC where no zone is written")
    if all(_PERIOD_VALUE.fullmatch(value) for value in seen):
        return GuessedColumn(name, "string", remark="looks like a period", newest=max(seen))
    if forms := _list_day_forms(seen):
        if form in forms:
            return GuessedColumn(name, "date", remark=f"days are written as {form}")
        return GuessedColumn(name, "string", remark=f"days as {' or '.join(forms)}: see the option dateFormat")
    if all(_DIGITS.fullmatch(value) for value in seen):
        return GuessedColumn(name, "string", remark="codes: digits that begin with 0")
    if all(_WITH_COMMAS.fullmatch(value) for value in seen):
        remark = 'numbers with a comma: convert with NUMBER(REPLACE(REPLACE(…, ".", ""), ",", "."), 18, 2)'
        return GuessedColumn(name, "string", remark=remark)
    if all(_WITH_THOUSANDS.fullmatch(value) for value in seen):
        remark = 'numbers with commas between thousands: convert with NUMBER(REPLACE(…, ",", ""), 18, 2)'
        return GuessedColumn(name, "string", remark=remark)
    return GuessedColumn(name, "string")


def _guess_number(name: str, seen: set[str]) -> GuessedColumn:
    matches = [found for value in seen if (found := _NUMBER.fullmatch(value)) is not None]
    whole = max(len(found[1]) for found in matches)
    scale = max(len(found[2] or "") for found in matches)
    if scale == 0:
        if whole <= LEAST_PRECISION:
            compact = _is_all(seen, lambda text: date.fromisoformat(text), 8) and whole == 8
            return GuessedColumn(name, "integer", remark="may be days: the option dateFormat" if compact else "")
        return GuessedColumn(name, "string", remark="digits only, too many for an integer")
    seen_scale, scale = scale, max(scale, LEAST_SCALE)
    # Room for larger amounts than those that were seen.
    precision = min(MOST_DIGITS, max(LEAST_PRECISION, whole + scale + 3))
    remark = f"digits seen before the point: {whole}, after it: {seen_scale}"
    return GuessedColumn(name, "decimal", precision, min(scale, precision), remark)


def _is_all(seen: set[str], read: Callable[[str], object], length: int) -> bool:
    """Whether there are values, and all can be read and have so many characters at least."""
    try:
        return bool(seen) and all(read(value) and len(value) >= length for value in seen)
    except ValueError:
        return False
