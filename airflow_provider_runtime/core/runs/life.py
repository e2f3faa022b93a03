"""One path for every run, from command line and Airflow alike: begin an attempt, keep it alive, finish or fail it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.model.report import find_misfit
from airflow_provider_runtime.core.planning.check.system_columns import SYSTEM_COLUMN_NAMES
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
from airflow_provider_runtime.core.planning.snapshot.settings import get_calendar_name, get_settings
from airflow_provider_runtime.core.registry.leases import describe_holder
from airflow_provider_runtime.core.registry.ports import (
    LEASE_SECONDS,
    Attempt,
    Registration,
    Registry,
    RunStart,
    SliceWrite,
    UsedDefinition,
)
from airflow_provider_runtime.core.registry.slices import make_table_name

_SLICE_NAME = re.compile(r"[A-Za-z0-9_-]+")
REPORT_OPERATION_KEYS = ("seq", "type", "name", "rows_affected", "rows_after")


def begin_attempt(
    registry: Registry,
    snapshot: Mapping[str, Any],
    sha256: str,
    *,
    snapshot_uri: str | None = None,
    allow_closed: bool = False,
    invocation: str | None = None,
    durable: bool = False,
    resume_token: int | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> Attempt:
    """Take the lease of the snapshot's project and period; the attempt's token fences every older one."""
    project, period = snapshot["project"], snapshot["period"]
    settings = get_settings(snapshot)
    start = RunStart(
        snapshot_sha256=sha256,
        run_id=str(snapshot["run_id"]),
        project_id=str(project["id"]),
        project_name=str(project["name"]),
        project_version=int(project["version"]),
        calendar=get_calendar_name(snapshot),
        period=str(period["identifier"]),
        level=str(period["level"]),
        snapshot_uri=snapshot_uri,
        definitions=_list_definitions(snapshot),
        invocation=invocation,
        allow_closed=allow_closed or bool(settings.get("allow_closed")),
        file_status=settings.get("file_status") or "open",
        lies_in=tuple(settings.get("lies_in") or ()),
    )
    holder = describe_holder(durable=durable)
    return registry.begin_attempt(start, holder=holder, lease_seconds=lease_seconds, resume_token=resume_token)


def heartbeat(registry: Registry, attempt: Attempt) -> None:
    """Lengthen the attempt's lease; raises when the attempt may no longer publish."""
    registry.heartbeat(attempt)


def check_attempt(registry: Registry, attempt: Attempt) -> None:
    """Raise when the attempt may no longer publish; to be asked right before a publish."""
    registry.heartbeat(attempt)


@contextmanager
def keep_alive(
    registry: Registry,
    attempt: Attempt,
    on_lost: Callable[[RuntimeProviderError], None],
    *,
    interval_seconds: float | None = None,
) -> Iterator[None]:
    """Lengthen the lease from a thread; `on_lost` is called once when the attempt may no longer publish."""
    over = threading.Event()
    # Often, so that a period that is locked meanwhile stops its jobs soon.
    pause_seconds = interval_seconds or attempt.lease_seconds / 18

    def beat() -> None:
        while not over.wait(pause_seconds):
            try:
                registry.heartbeat(attempt)
            except RuntimeProviderError as error:
                # A registry that is away for a while is no reason to give up: the fence and the finish will tell.
                if not error.retryable and not over.is_set():
                    on_lost(error)
                    return

    thread = threading.Thread(target=beat, name="runtime-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


def finish_attempt(
    registry: Registry, attempt: Attempt, snapshot: Mapping[str, Any], report: Mapping[str, Any]
) -> tuple[Registration, ...]:
    """Register what the job has written; the report must be one of this snapshot and this attempt."""
    _check_report(attempt, report)
    return registry.finish_attempt(attempt, list_slice_writes(snapshot, report), report)


def fail_attempt(
    registry: Registry,
    attempt: Attempt,
    error: Mapping[str, Any] | BaseException,
    report: Mapping[str, Any] | None = None,
) -> bool:
    """Record why the attempt failed and give its lease back; False when it was no longer the current one."""
    return registry.fail_attempt(attempt, error if isinstance(error, Mapping) else _describe_error(error), report)


def list_slice_writes(snapshot: Mapping[str, Any], report: Mapping[str, Any]) -> list[SliceWrite]:
    """Return the slices that a report tells of, with the schema that the snapshot planned for them."""
    planned = {
        operation["seq"]: operation for operation in snapshot["plan"]["operations"] if operation["type"] == "output"
    }
    registers = snapshot["plan"].get("settings", {}).get("registers", {})
    writes = []
    for output in report.get("outputs", ()):
        written = output.get("slice")
        if written is None:
            continue
        operation = planned.get(output["seq"])
        if operation is None or operation.get("slice") is None:
            raise SnapshotError(
                Problem("SNAPSHOT_001", f"the report tells of a slice of output {output['seq']}, the snapshot does not")
            )
        target = operation["slice"]
        _check_slice_address(
            str(written["uri"]), f"{target['uri_prefix'].rstrip('/')}/{snapshot['period']['identifier']}/"
        )
        inferred = registers.get(str(output["seq"]), {}).get("definition")
        writes.append(
            SliceWrite(
                output_seq=int(output["seq"]),
                dataset_id=str(target["dataset_id"]),
                dataset_name=str(target["dataset_name"]),
                period=str(snapshot["period"]["identifier"]),
                uri=str(written["uri"]),
                rows=int(written["rows"]),
                definition=inferred or _make_definition(target, operation["columns"]),
                content=written.get("content"),
            )
        )
    return writes


def public_report(report: Mapping[str, Any], registrations: Sequence[Registration]) -> dict[str, Any]:
    """Return the report as `run --report` writes it."""
    versions = {registration.output_seq: registration.version for registration in registrations}
    return {
        "run_id": report.get("run_id"),
        "status": report["status"],
        "period": report.get("period"),
        "operations": [
            {key: operation.get(key) for key in REPORT_OPERATION_KEYS} for operation in report.get("operations", ())
        ],
        "outputs": [
            {
                "seq": output["seq"],
                "destination": output["destination"],
                "rows": output["rows"],
                "columns": list(output["columns"]),
                "registered_dataset": output.get("registered_dataset"),
                "registered_version": versions.get(output["seq"]),
            }
            for output in report.get("outputs", ())
        ],
        "timings": dict(report.get("timings", {})),
        "error": report.get("error"),
    }


def _list_definitions(snapshot: Mapping[str, Any]) -> tuple[UsedDefinition, ...]:
    found = snapshot.get("plan", {}).get("settings", {}).get("definitions", ())
    return tuple(
        UsedDefinition(str(item["kind"]), str(item["id"]), int(item["version"]), str(item["digest"])) for item in found
    )


def _check_report(attempt: Attempt, report: Mapping[str, Any]) -> None:
    if (reason := find_misfit(dict(report))) is not None:
        raise SnapshotError(Problem("SNAPSHOT_001", f"the report is not one of this package's job: {reason}"))
    digest = str(report.get("snapshot_sha256", "")).removeprefix("sha256:")
    expected = attempt.snapshot_sha256.removeprefix("sha256:")
    if digest != expected or str(report.get("attempt")) != str(attempt.token):
        raise SnapshotError(
            Problem(
                "SNAPSHOT_001",
                f"the report is of snapshot {digest[:12] or '?'} attempt {report.get('attempt')}, not of snapshot"
                f" {expected[:12]} attempt {attempt.token}",
            )
        )
    if report.get("status") != "succeeded":
        raise SnapshotError(Problem("SNAPSHOT_001", "the report does not tell of a success"))


def _check_slice_address(uri: str, folder: str) -> None:
    """Refuse a slice that is not directly in its period's folder: other projects read what is registered."""
    if not uri.startswith(folder) or not _SLICE_NAME.fullmatch(uri.removeprefix(folder)):
        shown = hide_control_characters(uri[:200])
        message = f"the report tells of a slice at {shown}, which is not directly below {folder}"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "see who can write reports; nothing was registered"))


def _make_definition(target: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = str(target["dataset_name"])
    return {
        "id": str(target["dataset_id"]),
        "name": name,
        "resolver_id": "registry",
        "main_table": {
            "name": make_table_name(name),
            "temporal_mode": "period",
            "columns": [_make_column(column) for column in columns if column["name"] not in SYSTEM_COLUMN_NAMES],
        },
    }


def _make_column(column: Mapping[str, Any]) -> dict[str, Any]:
    spelled = str(column["type"])
    nullable = bool(column.get("nullable", True))
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", spelled):
        precision, scale = int(decimal[1]), int(decimal[2])
        parts = {"type": "decimal", "precision": precision, "scale": scale}
    else:
        parts = {"type": "integer" if spelled == "bigint" else spelled}
    return {"name": column["name"], **parts, "nullable": nullable}


def _describe_error(error: BaseException) -> dict[str, Any]:
    if isinstance(error, RuntimeProviderError):
        problem = error.problems[0]
        place = problem.location
        return {
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "project": place.project,
            "operation_seq": place.operation_seq,
            "field": place.field,
        }
    # The text of a foreign exception may hold anything, a secret too: its kind must do.
    return {"code": "INFRA_001", "message": f"the run ended with {type(error).__name__}"}
