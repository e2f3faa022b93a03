"""Names of options mean the same in capital and small letters, as they do for Spark."""

from __future__ import annotations

import pytest

from spark_jobs.contract.options import drop_options, get_option, merge_options, moves_files, runs_code


def test_later_option_takes_the_place_of_an_earlier_one_in_another_case() -> None:
    assert merge_options({"header": "true", "escape": '"'}, {"Header": "false"}) == {"Header": "false", "escape": '"'}


def test_option_is_found_and_dropped_in_any_case() -> None:
    options = {"INFERSCHEMA": "true", "Schema": "s"}
    assert get_option(options, "schema") == "s"
    assert get_option(options, "url") is None
    assert drop_options(options, "inferSchema") == {"Schema": "s"}


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("url", "jdbc:postgresql://h/d?socket%46actory=x", True),
        (" Url", "jdbc:postgresql://h/d?ssl=true", False),
        ("compression", "x.Y", True),
        ("compression", "zstd", False),
        ("driver", "org.postgresql.Driver", False),
        ("other", "org.postgresql.Driver", True),
        ("fs.s3a.aws.credentials.provider", "x.Y", False),
    ],
)
def test_option_that_could_run_code_is_known(name: str, value: str, refused: bool) -> None:
    assert runs_code(name, value) is refused


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("path", True),
        (" Paths", True),
        ("Mapreduce.Output.Basename", True),
        ("\x01mapreduce.output.basename ", True),
        ("mapreduce.output.fileoutputformat.outputdir", True),
        ("mapred.output.dir", True),
        ("pathGlobFilter", False),
        ("mapreduce.fileoutputcommitter.algorithm.version", False),
    ],
)
def test_option_that_moves_files_is_known(name: str, refused: bool) -> None:
    assert moves_files(name) is refused
