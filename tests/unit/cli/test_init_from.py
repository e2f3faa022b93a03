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
        ("31.01.2026", "string"),
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


def test_parquet_tells_its_types_itself(data: Path) -> None:
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
    assert costs.columns[3].remark == "the file has double: choose a type that fits"
    assert costs.remarks == ["column 'bad name' is left out: rename it, names are letters, digits and _"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("a,a", "1,2"), "is not a header"),
        (("Amount (EUR)",), "has no column that a dataset can declare"),
    ],
)
def test_file_that_cannot_be_a_dataset_is_told(
    lines: tuple[str, ...], message: str, data: Path, tmp_path: Path
) -> None:
    write(data, "odd.csv", *lines)
    result = invoke("init", tmp_path / "books", "--from", data / "odd.csv")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "books").exists()


def test_file_of_another_kind_is_told(data: Path, tmp_path: Path) -> None:
    write(data, "notes.txt", "x")
    assert "is neither CSV nor Parquet" in invoke("init", tmp_path / "b", "--from", data / "notes.txt").output
