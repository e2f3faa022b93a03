"""What is called when a run misses its deadline; importable in the triggerer."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)


async def notify_late(project: str = "", deadline: str = "", context: dict[str, Any] | None = None) -> str:
    """Log that a run is late, and return the text that was logged."""
    run = (context or {}).get("dag_run") or {}
    period = run.get("partition_key") or run.get("dag_run_id") or "unknown"
    text = f"the run of project {project} for period {period} is late: it was due {deadline}"
    log.error("%s", text)
    return text
