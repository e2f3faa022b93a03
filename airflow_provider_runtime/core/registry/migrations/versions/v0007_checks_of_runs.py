"""How many checks of a run have which status, beside its report."""

from __future__ import annotations

import json
from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

RUNS_AT_ONCE = 1000
SOME = sa.text(
    "SELECT snapshot_sha256, report FROM runtime_runs WHERE report IS NOT NULL AND snapshot_sha256 > :last"
    " ORDER BY snapshot_sha256 LIMIT :count"
)
KEEP = sa.text("UPDATE runtime_runs SET check_counts = :counts WHERE snapshot_sha256 = :digest")


def upgrade() -> None:
    """Bring the schema to this state."""
    op.add_column("runtime_runs", sa.Column("check_counts", sa.Text))
    connection, last = op.get_bind(), ""
    while rows := connection.execute(SOME, {"last": last, "count": RUNS_AT_ONCE}).all():
        last = rows[-1].snapshot_sha256
        connection.execute(KEEP, [{"digest": row.snapshot_sha256, "counts": _count(row.report)} for row in rows])


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.drop_column("runtime_runs", "check_counts")


def _count(report: str) -> str:
    found = json.loads(report).get("checks") or ()
    return json.dumps(Counter(str(check.get("status")) for check in found))
