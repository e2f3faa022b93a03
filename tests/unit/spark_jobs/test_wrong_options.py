"""Spark's errors about the value of an option are distinguished from those about rows and unreachable databases."""

from __future__ import annotations

import pytest

from spark_jobs.errors import RAISED_PREFIX
from spark_jobs.sources.read_errors import find_wrong_option


@pytest.mark.parametrize(
    "text",
    [
        ': java.lang.NumberFormatException: For input string: "zap"',
        "java.lang.NegativeArraySizeException: -1",
        "org.apache.spark.SparkException: header flag can be true or false.",
        "[OPTION_VALUE_EXCEEDS_ONE_CHARACTER] The value of quote cannot be more than one character, but got ab.",
        "org.apache.spark.SparkIllegalArgumentException: Invalid value `0` for parameter `numPartitions` in table",
    ],
)
def test_value_of_an_option_is_found(text: str) -> None:
    found = find_wrong_option(["An error occurred while calling o1.save.", text])
    assert found == text.removeprefix(": ")


@pytest.mark.parametrize(
    "texts",
    [
        ["org.apache.spark.SparkException: Job aborted due to stage failure", "java.lang.NumberFormatException: x"],
        [f"{RAISED_PREFIX}{{}}: java.lang.NumberFormatException"],
        ["[CAST_INVALID_INPUT] The value 'x' cannot be cast"],
        ["java.lang.IllegalArgumentException: x", "java.net.UnknownHostException: store"],
        ["java.lang.OutOfMemoryError: Java heap space"],
    ],
)
def test_other_failures_are_not_wrong_options(texts: list[str]) -> None:
    assert find_wrong_option(texts) is None
