"""The application, in a process that kills itself right before a chosen call of the file system.

python -m tests.spark_jobs.killed_driver STEP NUMBER <arguments of run_project.py>
"""

from __future__ import annotations

import os
import signal
import sys

from spark_jobs.run_project import main
from spark_jobs.spark.storage import LocalStorage


def kill_at(step: str, number: int) -> None:
    original = getattr(LocalStorage, step)
    calls: list[str] = []

    def stop(self: LocalStorage, *arguments: str) -> object:
        calls.append(step)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *arguments)

    setattr(LocalStorage, step, stop)


if __name__ == "__main__":
    kill_at(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
