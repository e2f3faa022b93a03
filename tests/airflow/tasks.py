"""Tasks without a scheduler: a context as an operator sees it, and a spark-submit that only writes a report."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FAKE_SUBMIT = """#!{python}
import json, os, pathlib, sys
arguments = sys.argv[1:]
value = lambda name: arguments[arguments.index(name) + 1]
snapshot = json.loads(pathlib.Path(value("--snapshot").removeprefix("file://")).read_text())
log = pathlib.Path(os.environ["FAKE_SUBMIT_LOG"])
secrets = {{name: text for name, text in os.environ.items() if name.startswith("RUNTIME_CREDENTIAL_")}}
with log.open("a") as file:
    file.write(json.dumps({{"arguments": arguments, "secrets": secrets}}) + "\\n")
error = json.loads(os.environ.get("FAKE_SUBMIT_ERROR", "null"))
if os.environ.get("FAKE_SUBMIT_KILLED"):
    os.kill(os.getpid(), 9)
outputs = [
    {{"seq": op["seq"], "destination": op["destination"]["display"], "rows": 3,
      "columns": [c["name"] for c in op["columns"]],
      "registered_dataset": (op.get("slice") or {{}}).get("dataset_name"),
      "slice": {{"uri": "/".join([op["slice"]["uri_prefix"], snapshot["period"]["identifier"], "x"]), "rows": 3}}
      if op.get("slice") else None}}
    for op in snapshot["plan"]["operations"] if op["type"] == "output"
]
keeps = "--keep-until" in arguments
if keeps:
    outputs = [{{**output, "slice": None, "staged": {{"nonce": "abc"}}}} for output in outputs]
report = {{"report_version": 1, "snapshot_sha256": value("--sha256"), "attempt": int(value("--attempt")),
          "run_id": snapshot["run_id"],
          "status": "failed" if error else "staged" if keeps else "succeeded",
          "period": snapshot["period"]["identifier"],
          "operations": json.loads(os.environ.get("FAKE_SUBMIT_OPERATIONS", "[]")), "outputs": [] if error else outputs,
          "timings": {{}}, "rows_in": 3, "error": error}}
target = pathlib.Path(value("--report").removeprefix("file://"))
if not os.environ.get("FAKE_SUBMIT_SILENT"):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report))
print("Submitted application_1700000000000_0001", flush=True)
print(os.environ.get("FAKE_SUBMIT_SAYS", ""))
print("tracking URL: http://cluster.example:8088/proxy/application_1700000000000_0001/")
sys.exit(11 if error else 0)
"""


@dataclass
class FakeStore:
    """The task's state store: outlives a try, and a clear."""

    values: dict[str, Any] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def set(self, key: str, value: Any) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


class FakeEvent:
    """An outlet's event that collects what it was given."""

    def __init__(self) -> None:
        self.extra: dict[str, Any] = {}
        self.partition_keys: set[str] = set()

    def add_partitions(self, key: str) -> None:
        self.partition_keys.add(key)


@dataclass
class FakeTask:
    """Makes contexts of one DAG run, try after try."""

    partition_key: str | None = "2026-01"
    params: dict[str, Any] = field(default_factory=dict)
    logical_date: Any = None
    clear_number: int = 0
    xcom: dict[str, Any] = field(default_factory=dict)
    store: FakeStore = field(default_factory=FakeStore)
    events: dict[Any, FakeEvent] = field(default_factory=lambda: defaultdict(FakeEvent))
    first_reschedule: Any = None
    triggered_by: str | None = None

    def context(self, task_id: str = "run") -> Any:
        run = SimpleNamespace(
            run_id="manual__1",
            clear_number=self.clear_number,
            partition_key=self.partition_key,
            triggering_user_name=self.triggered_by,
        )
        instance = SimpleNamespace(
            dag_id="close",
            task_id=task_id,
            id="00000000-0000-0000-0000-000000000001",
            map_index=-1,
            stats_tags={},
            xcom_pull=lambda task_ids: self.xcom.get(task_ids),
            get_first_reschedule_date=lambda context: self.first_reschedule,
        )
        return {
            "dag_run": run,
            "ti": instance,
            "task_instance": instance,
            "partition_key": self.partition_key,
            "params": self.params,
            "logical_date": self.logical_date,
            "task_state_store": self.store,
            "outlet_events": self.events,
        }


@dataclass
class FakeSpark:
    """The command that stands in for spark-submit."""

    folder: Path

    def install(self) -> None:
        command = self.folder / "spark-submit"
        command.write_text(FAKE_SUBMIT.format(python=sys.executable))
        command.chmod(0o755)

    @property
    def log(self) -> Path:
        return self.folder / "submitted.jsonl"

    @property
    def calls(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def attempts(self) -> list[int]:
        return [int(call["arguments"][call["arguments"].index("--attempt") + 1]) for call in self.calls]

    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", "FAKE_SUBMIT_LOG": str(self.log)}
