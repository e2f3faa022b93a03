"""A process that replaces rows of a table again and again; to be killed at any moment.

    writer.py FORMAT ROOT PROJECT PERIOD COUNT [overwrite]

Each replacement writes three files, and every row of it holds the same number. Prints a line for each commit.
"""

from __future__ import annotations

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
    format_, root, project, period, count = sys.argv[1:6]
    periods = () if "overwrite" in sys.argv[6:] else (period,)
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
