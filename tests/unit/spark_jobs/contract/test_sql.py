import pytest

from spark_jobs.contract.sql import quote_text


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("two\nlines\0", r"'two\u000alines\u0000'"),
        ("${env:HOME}", r"'\u0024{env:HOME}'"),
        ("\U0001f4b6", "'\U0001f4b6'"),
        ("\U000e0001", r"'\U000e0001'"),
    ],
    ids=["quote", "backslash", "control characters", "what Spark would take for a variable", "symbol", "invisible"],
)
def test_literal_of_a_text_is_that_text_for_spark(text: str, literal: str) -> None:
    assert quote_text(text) == literal
