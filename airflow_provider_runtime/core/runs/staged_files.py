"""The files of this machine that a run has staged, for those who discard them without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

from airflow_provider_runtime.core.registry.ports import RunRecord
from spark_jobs.contract.addresses import find_local_path
from spark_jobs.contract.documents import find_document
from spark_jobs.contract.report import UNCOMMITTED, Report


def remove_staged_files(run: RunRecord) -> None:
    """Remove what a run has staged here; what is elsewhere goes with the next run of the period."""
    report = find_document(Report, run.report)
    for output in report.outputs if report is not None else ():
        if output.staged is None or output.staged.uri is None:
            continue
        place = find_local_path(output.staged.uri)
        own = f"{run.token:020d}-{output.staged.nonce}"
        # Only folders of this very attempt: a report is a file that others may have written to.
        if place is None or (output.table is not None and not Path(place, UNCOMMITTED).exists()):
            # A commit of these files may have been tried, and the table may refer to them.
            continue
        if any(name.startswith(own) for name in Path(place).parts[-2:]):
            shutil.rmtree(place, ignore_errors=True)
