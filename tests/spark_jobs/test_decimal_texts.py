"""Texts that are read as decimals, compared with Python's."""

from __future__ import annotations

from decimal import Decimal as D
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.sources import columns
from spark_jobs.sources.columns import Wanted, build_column

TYPES = [(1, 1), (5, 2), (18, 2), (38, 0), (38, 10), (38, 37), (38, 38)]

# Many zeros and few other digits: they are what an exponent moves across the point.
DIGITS = st.text("0000159", max_size=44)
EXPONENTS = st.one_of(
    st.just(""),
    st.integers(-45, 45).map("e{}".format),
    st.integers(0, 45).map("E+{:03}".format),
    st.sampled_from(["e999", "E-999"]),
)
NUMBERS = st.builds(
    lambda blank, sign, whole, fraction, exponent: f"{blank}{sign}{whole}{fraction}{exponent}{blank}",
    st.sampled_from(["", "", " "]),
    st.sampled_from(["", "-", "+"]),
    st.one_of(DIGITS, st.sampled_from("0127")),
    st.one_of(st.just(""), DIGITS.map(".{}".format)),
    EXPONENTS,
).filter(lambda text: any(character.isdigit() for character in text.lower().split("e")[0]))


@pytest.fixture(scope="module")
def without_errors() -> object:
    """Make NULL of what is refused, so that one query checks many texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "raise_sql", lambda *_, **__: "NULL")
        yield


def fit(text: str, precision: int, scale: int) -> D | None:
    """Return what a text is as a decimal of a type, None if it is not one of its values."""
    scaled = Fraction(D(text)) * 10**scale
    if scaled.denominator != 1 or abs(scaled) >= 10**precision:
        return None
    return D(int(scaled)).scaleb(-scale) if abs(scaled) < 10**28 else D(f"{int(scaled)}e-{scale}")


def read(spark: SparkSession, texts: list[str]) -> list[list[D | None]]:
    selected = [
        build_column(Wanted("v", f"decimal({precision},{scale})"), "v", "string", mark="m", is_text=True)
        + f" AS p{precision}s{scale}"
        for precision, scale in TYPES
    ]
    frame = spark.createDataFrame([(text,) for text in texts], "v string").coalesce(1).selectExpr(*selected)
    return [list(row) for row in frame.collect()]


def compare(spark: SparkSession, texts: list[str]) -> None:
    wanted = [[fit(text, *kind) for kind in TYPES] for text in texts]
    for text, found, expected in zip(texts, read(spark, texts), wanted, strict=True):
        assert found == expected, text


@pytest.mark.usefixtures("without_errors")
@settings(max_examples=2, phases=[Phase.generate], derandomize=True)
@given(st.lists(NUMBERS, min_size=100, max_size=140))
def test_a_decimal_is_read_exactly_or_refused(spark: SparkSession, texts: list[str]) -> None:
    compare(spark, texts)


@pytest.mark.usefixtures("without_errors")
def test_exponents_are_read_at_the_ends_of_every_type(spark: SparkSession) -> None:
    texts = ["1e2", "1E-38", "-1E-38", "1.0E-38", "1e-39", "1e-31", "100e-2", "00.10e1", "9" * 38, "0e-60", "-00.0e999"]
    texts += [
        "0." + "0" * 40 + "1e41",
        "1" + "0" * 60 + "e-60",
        "1e-999",
        "1e999",
        "1e38",
        "1e37",
        "10.5e1",
        ".5e0",
        "5.e1",
    ]
    compare(spark, texts)


@pytest.mark.usefixtures("without_errors")
def test_texts_that_are_not_numbers_are_refused_with_and_without_exponents(spark: SparkSession) -> None:
    texts = [
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1e5.5",
        "1ee5",
        "1 e5",
        "x1e5",
        "1e1000",
        "1e-1000",
        "0e0000",
        "1" * 50_000 + "xe5",
    ]
    assert read(spark, texts) == [[None] * len(TYPES)] * len(texts)
