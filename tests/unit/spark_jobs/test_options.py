"""Names of options mean the same in capital and small letters, as they do for Spark."""

from __future__ import annotations

from spark_jobs.contract.options import drop_options, get_option, merge_options


def test_later_option_takes_the_place_of_an_earlier_one_in_another_case() -> None:
    assert merge_options({"header": "true", "escape": '"'}, {"Header": "false"}) == {"Header": "false", "escape": '"'}


def test_option_is_found_and_dropped_in_any_case() -> None:
    options = {"INFERSCHEMA": "true", "Schema": "s"}
    assert get_option(options, "schema") == "s"
    assert get_option(options, "url") is None
    assert drop_options(options, "inferSchema") == {"Schema": "s"}
