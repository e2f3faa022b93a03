"""Tables in which the job keeps what it stages and publishes: no output may have their names."""

from __future__ import annotations

import re

LEDGER = "runtime_publish_ledger"
STAGE_PREFIX = "rt_stage_"
EVERY = "*"
"""Stands in the ledger for all projects, and for all periods."""
_OWN_TABLE = re.compile(rf"(^|\.)({LEDGER}$|{STAGE_PREFIX})", re.IGNORECASE)


def is_own_table(name: str) -> bool:
    """Return whether a table is one of the job's own."""
    return _OWN_TABLE.search(name) is not None


def name_lock(calendar: str, period: str) -> str:
    """Return the ledger entry for a period that was locked; no period is called so."""
    return f"lock:{calendar}/{period}"
