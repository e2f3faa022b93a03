from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.scenarios.compare import compare_rows
from airflow_provider_runtime.scenarios.values import ExpectedValueError, read_value


def test_rows_in_another_order_are_equal():
    expected = [{"id": "a", "n": Decimal(1)}, {"id": "b", "n": Decimal(2)}]
    assert compare_rows(expected, list(reversed(expected)), match="exact", operation=10) == []


def test_one_changed_value_is_named_with_its_column():
    [mismatch] = compare_rows(
        [{"id": "a", "n": Decimal("1.50")}],
        [{"id": "a", "n": Decimal("1.51"), "other": "x"}],
        match="exact",
        operation=10,
    )
    assert mismatch.kind == "different"
    assert mismatch.message == "row {id: a} differs in n: expected 1.50, found 1.51"


def test_a_row_too_many_is_extra_and_a_double_counts_twice():
    row = {"id": "a"}
    [mismatch] = compare_rows([row], [row, row], match="exact", operation=10)
    assert mismatch.kind == "extra"
    assert compare_rows([row], [row, row], match="subset", operation=10) == []
    [missing] = compare_rows([row, row], [row], match="subset", operation=10)
    assert missing.kind == "missing"


def test_true_is_not_the_number_one():
    assert compare_rows([{"x": True}], [{"x": Decimal(1)}], match="exact", operation=1)


def test_rows_that_name_more_columns_choose_first():
    actual = [{"a": "1", "b": "1"}, {"a": "1", "b": "2"}]
    expected = [{"a": "1"}, {"a": "1", "b": "1"}]
    assert compare_rows(expected, actual, match="exact", operation=1) == []


@given(st.lists(st.sampled_from(["1", "2"]), max_size=6), st.randoms())
def test_rows_match_whatever_their_order(values, chance):
    actual = [{"a": value, "b": str(number)} for number, value in enumerate(values)]
    expected = chance.sample([{"a": row["a"]} for row in actual], len(actual))
    assert compare_rows(expected, actual, match="exact", operation=1) == []


@pytest.mark.parametrize("text", [5, "5", "5.00"])
def test_numbers_are_equal_however_they_are_written(text):
    assert read_value(text, "n", "decimal(18,2)") == Decimal("5")


@pytest.mark.parametrize(
    ("text", "type_name"),
    [
        ("x", "bigint"),
        ("NaN", "decimal(5,2)"),
        ("1e999999999999", "decimal(38,2)"),
        ("2026-13-01", "date"),
        ("yes", "boolean"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(text, type_name):
    with pytest.raises(ExpectedValueError, match="cannot be read"):
        read_value(text, "c", type_name)
