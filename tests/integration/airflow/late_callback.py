"""What the tests' Airflow calls when a run is late."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


async def record_late(project: str, deadline: str, context: dict[str, Any]) -> None:
    """Write down which run is late."""
    run = context["dag_run"]
    line = json.dumps({"project": project, "deadline": deadline, "partition_key": run.get("partition_key")})
    with Path(os.environ["AIRFLOW_HOME"], "late.jsonl").open("a") as file:
        file.write(line + "\n")
