"""`airflow-runtime run` or `publish`, in a process that sends itself a signal at a chosen step.

python -m tests.integration.crashes.halted_run SIGKILL|SIGSTOP before|after STEP <arguments of run, or publish ...>
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from airflow_provider_runtime.cli.main import main
from airflow_provider_runtime.core.registry.sql import SqlRegistry

STEPS = {
    "begin": "airflow_provider_runtime.core.runs.execution:begin_attempt",
    "check": "airflow_provider_runtime.core.runs.execution:Execution.check",
    "seal": "spark_jobs.sinks.path:StagedFiles.seal",
    "slice": "spark_jobs.sinks.outputs:Output.publish_slice",
    "swap": "spark_jobs.spark.storage:LocalStorage.exchange",
    "table": "spark_jobs.sinks.jdbc:JdbcOutput.publish",
    "commit": "spark_jobs.sinks.jdbc:update_row",
    "clean": "spark_jobs.sinks.attempts:StagingArea.empty",
    "register": "airflow_provider_runtime.core.runs.execution:finish_attempt",
}
"""What a run does, by name, in its order."""


_registry = threading.RLock()


def work_alone() -> None:
    """Let one thread at a time use the registry: the heartbeat's thread must not be stopped in a transaction."""
    run = SqlRegistry._run

    def replacement(self: SqlRegistry, *arguments: Any) -> Any:
        with _registry:
            return run(self, *arguments)

    SqlRegistry._run = replacement  # type: ignore[method-assign]


def halt_at(signal_name: str, when: str, step: str) -> None:
    module_name, _, path = STEPS[step].partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module_name)
    for part in owners:
        owner = getattr(owner, part)
    original: Callable[..., Any] = getattr(owner, name)
    halted: list[str] = []

    def halt() -> None:
        if not halted:
            halted.append(step)
            print(f"halted {when} {step}", file=sys.stderr, flush=True)
            with _registry:
                os.kill(os.getpid(), signal.Signals[signal_name])

    def replacement(*arguments: Any, **named: Any) -> Any:
        if step == "commit" and "digest" not in arguments[3]:
            return original(*arguments, **named)
        if when == "before":
            halt()
        outcome = original(*arguments, **named)
        if when == "after":
            halt()
        return outcome

    setattr(owner, name, replacement)


if __name__ == "__main__":
    work_alone()
    halt_at(*sys.argv[1:4])
    main([*([] if sys.argv[4] == "publish" else ["run"]), *sys.argv[4:]])
