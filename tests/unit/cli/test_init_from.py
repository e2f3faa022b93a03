"""`init --from`: datasets guessed from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_runtime.cli.guessing import guess_tables
from airflow_provider_runtime.core.catalog.loader import load_catalog
from tests.command_line import invoke


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "sales_2026-01.csv").write_text("id;amount;day;note;sent\nA;12.5;2026-01-03;Müll;true\n", "windows-1252")
    (folder / "sales_2026-02.csv").write_text("id;amount;day;note;sent\nB;1.255;2026-02-03;;FALSE\n", "windows-1252")
    (folder / "rates.csv").write_text("currency,rate,valid_from,valid_to\nEUR,1.08,2026-01-01,\n")
    return folder


def guess(folder: Path, *names: str) -> list[Any]:
    return guess_tables([folder / name for name in names], folder)


def write(folder: Path, name: str, *lines: str) -> str:
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def test_catalog_that_was_guessed_is_valid_and_resolves(data: Path, tmp_path: Path) -> None:
    files = sorted(data.iterdir())
    books = tmp_path / "books"
    result = invoke("init", books, "--from", *files)
    assert result.exit_code == 0, result.output
    assert "sales: 5 columns, period, from sales_{{YYYY}}-{{MM}}.csv" in result.output
    validated = invoke("validate", "--catalog", books / "catalog", "--format", "json")
    assert json.loads(validated.stdout)["valid"], validated.output
    resolved = invoke(
        "resolve", "--catalog", books / "catalog", "--project", "first", "--period", "2026-02",
        "--registry", f"sqlite:///{tmp_path}/r.db",
    )  # fmt: skip
    assert resolved.exit_code == 0, resolved.output
    assert "sales_2026-02.csv" in resolved.output
    assert not (books / "scenarios").exists()
    columns = load_catalog(books / "catalog").get_catalog().datasets["sales", 1].model.main_table.columns
    assert [(column.name, str(column.type)) for column in columns][1][0] == "amount"
    guesses = (books / "catalog" / "datasets.yaml").read_text()
    assert guesses.count("# guess") >= len(columns)


def test_types_are_the_narrowest_that_every_value_fits(data: Path) -> None:
    (sales,) = guess(data, "sales_2026-01.csv", "sales_2026-02.csv")
    found = {column.name: (column.type, column.precision, column.scale) for column in sales.columns}
    assert found == {
        "id": ("string", None, None),
        "amount": ("decimal", 18, 3),
        "day": ("date", None, None),
        "note": ("string", None, None),
        "sent": ("boolean", None, None),
    }
    assert sales.options == {"header": "true", "delimiter": ";", "encoding": "windows-1252"}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("007", "string"),
        ("7", "integer"),
        ("-12", "integer"),
        ("12345678901234567890", "string"),
        ("1,50", "string"),
        ("1e3", "string"),
        ("2026-01-31T10:00:00", "timestamp"),
        ("2026-01-31", "date"),
        ("31.01.2026", "date"),
        ("01/02/2026", "string"),
        ("", "string"),
    ],
)
def test_value_that_could_lose_something_stays_text(value: str, kind: str, data: Path) -> None:
    name = write(data, "one.csv", "a;b", f"{value};x")
    (table,) = guess(data, name)
    assert table.columns[0].type == kind


def test_digits_beyond_those_of_the_sample_have_room(data: Path) -> None:
    name = write(data, "large.csv", "a,b", "123456789012345678.25,x")
    (table,) = guess(data, name)
    assert (table.columns[0].precision, table.columns[0].scale) == (23, 2)


def test_days_from_and_to_make_a_table_bitemporal_and_a_period_column_one_of_periods(data: Path) -> None:
    name = write(data, "budget.csv", "period,amount", "2026-01,5")
    rates, budget = guess(data, "rates.csv", name)
    assert (rates.temporal_mode, rates.temporal_columns) == ("bitemporal", {"from": "valid_from", "to": "valid_to"})
    assert [column.name for column in rates.columns] == ["currency", "rate"]
    assert (budget.temporal_mode, budget.temporal_columns) == ("period", {"period": "period"})


def test_parquet_gives_its_own_types(data: Path) -> None:
    columns = {
        "id": pa.array([1], pa.int64()),
        "amount": pa.array([None], pa.decimal128(20, 4)),
        "at": pa.array([None], pa.timestamp("us", "UTC")),
        "share": pa.array([0.5], pa.float64()),
        "bad name": pa.array(["x"]),
    }
    pq.write_table(pa.table(columns), data / "costs.parquet")
    (costs,) = guess(data, "costs.parquet")
    found = {column.name: (column.type, column.precision, column.scale) for column in costs.columns}
    assert found["id"] == ("integer", None, None)
    assert found["amount"] == ("decimal", 20, 4)
    assert found["at"] == ("timestamp", None, None)
    assert costs.remarks == [
        "column 'share' is left out: no type of a dataset holds a double exactly",
        "column 'bad name' is left out: rename it in the file; names are letters, digits and _",
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("a,A", "1,2"), "has 'A' twice"),
        (("Amount (EUR)",), "column 'Amount (EUR)' is left out: rename it"),
        (("1,2", "3,4"), "has numbers, not names of columns"),
        (("",), "is empty"),
        (('a,"b', "x" * 200_000), "line 2: field larger than field limit"),
    ],
)
def test_file_that_cannot_be_a_dataset_is_reported(
    lines: tuple[str, ...], message: str, data: Path, tmp_path: Path
) -> None:
    write(data, "odd.csv", *lines)
    result = invoke("init", tmp_path / "books", "--from", data / "odd.csv")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "books").exists()


@pytest.mark.parametrize(
    ("days", "kind", "option", "remark"),
    [
        (("31.01.2026", "01.02.2026"), "date", "dd.MM.yyyy", "days are written as dd.MM.yyyy"),
        (("01/31/2026", "02/01/2026"), "date", "MM/dd/yyyy", "days are written as MM/dd/yyyy"),
        (("01/02/2026", "02/01/2026"), "string", None, "days as dd/MM/yyyy or MM/dd/yyyy: see the option dateFormat"),
        (("20260131", "20260201"), "integer", None, "may be days: the option dateFormat"),
    ],
)
def test_days_in_another_form_are_read_where_the_form_is_clear(
    days: tuple[str, ...], kind: str, option: str | None, remark: str, data: Path
) -> None:
    (table,) = guess(data, write(data, "days.csv", "id;day", *(f"1;{day}" for day in days)))
    assert (table.columns[1].type, table.columns[1].remark) == (kind, remark)
    assert table.options.get("dateFormat") == option


def test_days_in_two_forms_stay_text(data: Path) -> None:
    (table,) = guess(data, write(data, "days.csv", "sent;paid", "31.01.2026;2026-02-01"))
    assert [column.type for column in table.columns] == ["string", "date"]
    assert "dateFormat" not in table.options


def test_file_of_excel_is_read(data: Path) -> None:
    text = '\ufeffBeleg;Betrag;Kunden Nr;Leer;Bemerkung\r\n1;1.234,56;007;;"a;\r\nb"\r\n2;-3,5;8;;\r\n'
    (data / "excel.csv").write_bytes(text.encode())
    (table,) = guess(data, "excel.csv")
    assert table.options == {"header": "true", "delimiter": ";", "multiLine": "true"}
    found = {column.name: (column.type, column.remark) for column in table.columns}
    assert found == {
        "Beleg": ("integer", ""),
        "Betrag": (
            "string",
            'numbers with a comma: convert with NUMBER(REPLACE(REPLACE(…, ".", ""), ",", "."), 18, 2)',
        ),
        "Leer": ("string", "no value seen"),
        "Bemerkung": ("string", ""),
    }
    assert table.remarks == ["column 'Kunden Nr' is left out: rename it in the file; names are letters, digits and _"]


def test_codes_keep_their_zeros(data: Path) -> None:
    (table,) = guess(data, write(data, "codes.csv", "article,customer", "4006381333931,007", "0012345678905,12"))
    told = "codes: digits that begin with 0"
    assert [(column.type, column.remark) for column in table.columns] == [("string", told), ("string", told)]


def test_line_of_another_length_is_reported(data: Path) -> None:
    (table,) = guess(data, write(data, "ragged.csv", "a;b", "1;2", "1;2;3"))
    assert table.remarks == ["line 3 of ragged.csv has 3 values, the header 2: a run stops there"]


def test_utf_16_file_is_reported(data: Path, tmp_path: Path) -> None:
    (data / "wide.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    assert "is UTF-16: save it as UTF-8" in invoke("init", tmp_path / "b", "--from", data / "wide.csv").output


def test_first_run_is_of_a_period_that_the_files_have(data: Path, tmp_path: Path) -> None:
    files = [data / "sales_2026-01.csv", data / "sales_2026-02.csv"]
    assert "--period 2026-02" in invoke("init", tmp_path / "books", "--from", *files).output


def test_system_columns_need_not_be_declared(data: Path) -> None:
    (table,) = guess(data, write(data, "kept.csv", "_row_id,_deleted,amount", "x,false,1"))
    assert [column.name for column in table.columns] == ["amount"]
    assert table.remarks[0] == "column '_row_id' is left out: it is a system column, which is kept as it is"


def test_damaged_parquet_is_reported(data: Path, tmp_path: Path) -> None:
    write(data, "broken.parquet", "hello")
    result = invoke("init", tmp_path / "b", "--from", data / "broken.parquet")
    assert result.exit_code == 1
    assert "DATA_001" in result.output
    assert "cannot be read as Parquet" in result.output


def test_file_of_another_kind_is_reported(data: Path, tmp_path: Path) -> None:
    write(data, "notes.txt", "x")
    assert "is neither CSV nor Parquet" in invoke("init", tmp_path / "b", "--from", data / "notes.txt").output
