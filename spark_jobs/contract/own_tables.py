"""Tables in which the job keeps what it stages and publishes: nobody's outputs may have their names."""

from __future__ import annotations

import re

LEDGER = "runtime_publish_ledger"
STAGE_PREFIX = "rt_stage_"
_OWN_TABLE = re.compile(rf"(^|\.)({LEDGER}$|{STAGE_PREFIX})", re.IGNORECASE)


def is_own_table(name: str) -> bool:
    """Tell whether a table is one of the job's own."""
    return _OWN_TABLE.search(name) is not None
