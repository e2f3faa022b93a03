"""What the words of the language give, at the edges of what is promised: value for value, and what fails."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from airflow_provider_runtime.core.errors import DataError
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope

SCOPE = Scope(Relation("t", "working", {}))
RUN = RunConstants(datetime(2026, 3, 1, 4, 5, 6, tzinfo=UTC), "2026-02", date(2026, 2, 1), date(2026, 2, 28), "2026-01")
TRUTHS = """
    CASE WHEN FALSE THEN 1 END IS NULL
    CASE WHEN NULL THEN 1 ELSE 2 END = 2
    CASE 1 WHEN NULL THEN 1 WHEN 1 THEN 2 ELSE 3 END = 2
    CASE WHEN TRUE THEN 1 WHEN INTEGER("x") = 1 THEN 2 END = 1
    CASE WHEN TRUE THEN 0.5 ELSE INTEGER("x") END = 0.5
    "ab" LIKE "a%" AND "ab" LIKE "a_" AND "" LIKE "%" AND NOT "ab" LIKE "a"
    "🙂" LIKE "_" AND "a" NOT LIKE "A"
    "a\\b" LIKE "a\\_" AND NOT "a%" LIKE "a\\%"
    "5%" LIKE "5!%" ESCAPE "!" AND NOT "50" LIKE "5!%" ESCAPE "!"
    "a!b" LIKE "a!!b" ESCAPE "!" AND "a_" LIKE "a!_" ESCAPE "!"
    (NULL LIKE "%") IS NULL
    STARTS_WITH("abc", "ab") AND STARTS_WITH("abc", "") AND NOT STARTS_WITH("abc", "b")
    ENDS_WITH("abc", "bc") AND ENDS_WITH("abc", "") AND NOT ENDS_WITH("abc", "b")
    NULLIF(1, 1.0) IS NULL
    NULLIF(1, NULL) = 1
    NULLIF(NULL, 1) IS NULL
    NULLIF("a", "A") = "a"
    SUBSTRING("abc", 2) = "bc" AND SUBSTRING("abc", 2, 1) = "b"
    SUBSTRING("abc", 0) = "abc" AND SUBSTRING("abc", -5, 2) = "ab"
    SUBSTRING("abc", 2, 0) = "" AND SUBSTRING("abc", 2, -1) = "" AND SUBSTRING("abc", 9) = ""
    SUBSTRING("a🙂c", 2, 1) = "🙂" AND SUBSTRING("abc", 2, 99) = "bc"
    POSITION("c", "abc") = 3 AND POSITION("z", "abc") = 0 AND POSITION("", "abc") = 1 AND POSITION("", "") = 1
    POSITION("c", "🙂c") = 2
    PAD_LEFT("7", 3, "0") = "007" AND PAD_LEFT("abc", 2, "0") = "abc" AND PAD_LEFT("", 2, "🙂") = "🙂🙂"
    PAD_RIGHT("7", 3, ".") = "7.." AND PAD_RIGHT("abc", 2, ".") = "abc" AND PAD_RIGHT("a", -1, ".") = "a"
    ("a" || NULL) IS NULL AND "a" || "" || "b" = CONCAT("a", "b")
    TEXT(1.50) = "1.50" AND TEXT(-12) = "-12" AND TEXT(0.000001) = "0.000001" AND TEXT(100000.0) = "100000.0"
    TEXT(1 = 1) = "TRUE" AND TEXT(1 = 2) = "FALSE" AND TEXT(DATE("2026-01-31")) = "2026-01-31"
    TEXT(NOW()) = "2026-03-01T04:05:06Z"
    NUMBER(" -12.50 ", 10, 2) = -12.5 AND NUMBER("007", 3, 0) = 7 AND TEXT(NUMBER("7", 5, 2)) = "7.00"
    NUMBER("1.500", 3, 1) = 1.5 AND NUMBER("-0", 1, 0) = 0
    INTEGER("-7") = -7 AND INTEGER(" 7 ") = 7 AND INTEGER("-9223372036854775808") < 0
    DATE(" 2026-01-31 ") = DATE("2026-01-31")
    TRY_NUMBER("1,5", 5, 2) IS NULL AND TRY_INTEGER("4.0") IS NULL AND TRY_DATE("31.01.2026") IS NULL
    TRY_NUMBER("1.505", 5, 2) IS NULL AND TRY_NUMBER("1.500", 5, 2) = 1.5
    TRY_INTEGER("9223372036854775808") IS NULL
    ROUNDUP(1.21, 1) = 1.3 AND ROUNDUP(-1.21, 1) = -1.3 AND ROUNDUP(1.20, 1) = 1.2 AND ROUNDUP(0.001) = 1
    ROUNDDOWN(1.29, 1) = 1.2 AND ROUNDDOWN(-1.29, 1) = -1.2 AND ROUNDDOWN(-0.9) = 0
    ROUND_EVEN(2.5) = 2 AND ROUND_EVEN(3.5) = 4 AND ROUND_EVEN(-2.5) = -2 AND ROUND_EVEN(0.125, 2) = 0.12
    TEXT(ROUNDUP(1.2, 5)) = "1.2" AND TEXT(ROUND_EVEN(1.25, 1)) = "1.2" AND TEXT(ROUNDDOWN(7, 2)) = "7"
    SIGN(-0.1) = -1 AND SIGN(0.0) = 0 AND SIGN(5) = 1 AND TEXT(SIGN(2.50)) = "1"
    POWER(0, 0) = 1 AND POWER(-2, 3) = -8 AND POWER(1.5, 2) = 2.25 AND TEXT(POWER(2, 10)) = "1024"
    TEXT(POWER(1.10, 2)) = "1.2100"
    EOMONTH(DATE("2024-02-10")) = DATE("2024-02-29") AND EOMONTH(DATE("2026-01-31"), 1) = DATE("2026-02-28")
    EOMONTH(DATE("2026-01-31"), -2) = DATE("2025-11-30")
    ADDMONTHS(DATE("2026-01-31"), 1) = DATE("2026-02-28") AND ADDMONTHS(DATE("2026-02-28"), 1) = DATE("2026-03-28")
    ADDMONTHS(DATE("2024-02-29"), -12) = DATE("2023-02-28")
    QUARTER(DATE("2026-03-31")) = 1 AND QUARTER(DATE("2026-10-01")) = 4
    WEEKDAY(DATE("2026-02-02")) = 1 AND WEEKDAY(DATE("2026-02-01")) = 7
    DATE_TRUNC("year", DATE("2026-05-20")) = DATE("2026-01-01")
    DATE_TRUNC("quarter", DATE("2026-05-20")) = DATE("2026-04-01")
    DATE_TRUNC("month", DATE("2026-05-20")) = DATE("2026-05-01")
    DATE_TRUNC("week", DATE("2026-02-01")) = DATE("2026-01-26")
    MONTHS_BETWEEN(DATE("2026-02-28"), DATE("2026-01-31")) = 1
    MONTHS_BETWEEN(DATE("2026-02-27"), DATE("2026-01-31")) = 0
    MONTHS_BETWEEN(DATE("2026-01-31"), DATE("2026-02-28")) = -1
    MONTHS_BETWEEN(DATE("2026-01-01"), DATE("2026-01-01")) = 0
    MONTHS_BETWEEN(DATE("2026-03-30"), DATE("2026-02-28")) = 1
    MONTHS_BETWEEN(DATE("2025-02-28"), DATE("2024-02-29")) = 12
    PERIOD_ID() = "2026-02" AND PREVIOUS_PERIOD_ID() = "2026-01" AND PERIOD_DAYS() = 28
    PERIOD_START() = DATE("2026-02-01") AND PERIOD_END() = DATE("2026-02-28") AND TODAY() = DATE("2026-03-01")
"""
WRONG = """
    INTEGER("4.0")
    INTEGER("")
    INTEGER("+7")
    INTEGER("1e3")
    INTEGER("9223372036854775808")
    INTEGER("٣")
    INTEGER("1 2")
    NUMBER("1.505",5,2)
    NUMBER(".5",5,2)
    NUMBER("1.",5,2)
    NUMBER("1e3",9,2)
    NUMBER("1000",5,2)
    NUMBER("1,5",5,2)
    NUMBER("NaN",5,2)
    NUMBER("--1",5,2)
    DATE("2026-"||"1-31")
    DATE("2026-02-"||"30")
    DATE("2026"||"0131")
    DATE("2026-01-31T"||"00:00:00")
    DATE(""||"")
"""


def compute(text, run=RUN):
    result = check_expression(text, SCOPE)
    assert result.expression is not None, result.problems
    return evaluate(result.expression, {}, run=run)


@pytest.mark.parametrize("text", [line.strip() for line in TRUTHS.strip().splitlines()])
def test_value_is_as_promised(text):
    assert compute(text) is True


@pytest.mark.parametrize("text", [line.strip() for line in WRONG.strip().splitlines()])
def test_text_in_another_form_is_refused(text):
    with pytest.raises(DataError) as caught:
        compute(text)
    assert [problem.code for problem in caught.value.problems] == ["DATA_003"]


def test_time_with_a_fraction_shows_it():
    now = datetime(2026, 3, 1, 4, 5, 6, 780_000, tzinfo=UTC)
    assert compute("TEXT(NOW())", replace(RUN, timestamp=now)) == "2026-03-01T04:05:06.78Z"


def test_period_without_one_before_has_no_previous_id():
    assert compute("PREVIOUS_PERIOD_ID()", replace(RUN, previous_period_id=None)) is None


def test_exact_powers_of_long_numbers():
    assert compute("POWER(1.000000001, 4)") == Decimal("1.000000004000000006000000004000000001")
