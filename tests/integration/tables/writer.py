"""Processes that replace rows of a table again and again; to be killed at any time.

    writer.py FORMAT ROOT PROJECT PERIOD COUNT [overwrite]

Each line of standard input begins a life, a process of its own: its number is printed first, then a line for each of
its replacements, then `over` and how it has ended. Each replacement writes three files, and every row of it holds the
same number.
"""

from __future__ import annotations

import os
import random
import sys
import time
from decimal import Decimal
from pathlib import Path

from airflow_provider_runtime.core.errors import RuntimeProviderError
from tests.integration.tables.kit import TableKit

FILES = 3
ROWS = 6


def main() -> None:
    # Imported once for all processes: it takes as long as several replacements.
    __import__("pyiceberg.catalog.sql" if sys.argv[1] == "iceberg" else "deltalake")
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            live(*sys.argv[1:])
            os._exit(0)
        print("life", child, flush=True)
        print("over", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def live(format_: str, root: str, project: str, period: str, count: str, *mode: str) -> None:
    """Replace rows so many times."""
    random.seed()
    periods = () if "overwrite" in mode else (period,)
    kit = TableKit(format_, Path(root))  # type: ignore[arg-type]
    for _ in range(int(count)):
        number = random.randrange(10**9)
        rows = [{"account": f"{project}-{n}", "amount": Decimal(number), "_period": period} for n in range(ROWS)]
        token = time.time_ns()
        request = kit.stage(rows, project=project, period=period, token=token, periods=periods, files=FILES)
        try:
            committed = kit.open().commit(request)
            print("committed", committed.version, flush=True)
        except RuntimeProviderError as error:
            print("refused", error.code, flush=True)


if __name__ == "__main__":
    main()
