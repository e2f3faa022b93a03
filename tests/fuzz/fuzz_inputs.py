"""Coverage-guided fuzzing of what users write; ends with a status of its own at the first exception.

python -m tests.fuzz.fuzz_inputs yaml|expression|snapshot -max_total_time=60
"""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["airflow_provider_runtime.core", "spark_jobs"]):
    from airflow_provider_runtime.core.catalog.yaml_source import parse_bytes
    from airflow_provider_runtime.core.expr.parser import parse
    from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError
    from spark_jobs.contract.compiled_sql import find_foreign_part
    from spark_jobs.contract.snapshot import UnreadableSnapshotError, parse_snapshot


def try_yaml(data: bytes) -> None:
    parse_bytes(data, "fuzz.yaml")


def try_expression(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        parse(text)
    except ExpressionSyntaxError:
        return


def try_snapshot(data: bytes) -> None:
    find_foreign_part(data.decode("utf-8", "replace"))
    text = json.dumps({"snapshot_version": 1, "plan": data.decode("latin-1")}).encode()
    for content in (data, text):
        with suppress(UnreadableSnapshotError):
            parse_snapshot(content, hashlib.sha256(content).hexdigest())


if __name__ == "__main__":
    target = {"yaml": try_yaml, "expression": try_expression, "snapshot": try_snapshot}[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
