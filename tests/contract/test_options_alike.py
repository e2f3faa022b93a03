"""What core refuses among options before a run, the job refuses in every snapshot."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core import options as core_options
from airflow_provider_runtime.core.catalog import rules_options as core
from airflow_provider_runtime.core.model.base import KNOWN_FORMATS
from spark_jobs.contract import compiled_sql
from spark_jobs.contract import options as job
from spark_jobs.sources import files

PATTERNS = [name for name, value in vars(job).items() if name.isupper() and hasattr(value, "pattern")]


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_the_same(name: str) -> None:
    mine, theirs = getattr(core, name), getattr(job, name)
    assert (mine.pattern, mine.flags) == (theirs.pattern, theirs.flags)


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
def test_both_refuse_the_same(name: str, value: str, refused: bool) -> None:
    assert (core.runs_code(name, value), job.runs_code(name, value)) == (refused, refused)


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
def test_both_refuse_what_moves_files(name: str, refused: bool) -> None:
    assert (core.moves_files(name), job.moves_files(name)) == (refused, refused)


def test_both_read_strictly_by_the_same_options() -> None:
    assert {name.lower(): value for name, value in files.STRICT_CSV.items()} == core.STRICT["csv"]
    assert dict(files.STRICT) == core.STRICT["json"] == core.STRICT["xml"]
    assert {name.lower() for name in files.LOOSE} == core.STRICT["files"].keys()


def test_both_merge_options_alike() -> None:
    layers = [{"header": "a", "x": "b"}, {"Header": "c"}]
    assert core_options.merge_options(*layers) == job.merge_options(*layers) == {"Header": "c", "x": "b"}


def test_both_know_the_same_formats() -> None:
    assert set(KNOWN_FORMATS) == compiled_sql._FORMATS_KNOWN
