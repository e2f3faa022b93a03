"""What core asks of options that readers are strict by is what the job reads with."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog import rules_options as core
from spark_jobs.sources import files


def test_both_read_strictly_by_the_same_options() -> None:
    assert {name.lower(): value for name, value in files.STRICT_CSV.items()} == core.STRICT["csv"]
    assert dict(files.STRICT) == core.STRICT["json"] == core.STRICT["xml"]
    assert {name.lower() for name in files.LOOSE} == core.STRICT["files"].keys()
