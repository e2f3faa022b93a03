"""The files that `--report` and its like name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click


def write_report(path: Path, reports: list[dict[str, object]], *, several: bool) -> None:
    """Write the report, or the list of reports, as a whole or not at all."""
    from spark_jobs.spark.storage import LocalStorage

    document = reports if several else reports[0]
    LocalStorage().write_bytes(str(path.absolute()), (json.dumps(document, indent=2) + "\n").encode())


def prepare_report(path: Path, option: str = "--report") -> None:
    """Find out before a run, not after it, that its report cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise click.UsageError(f"the folder of {option} cannot be made: {failure.strerror}") from None
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.UsageError(f"{option} cannot be written there")
