"""What publications have read, beside their reports; an index for publications by their project's name."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

INDEX = "runtime_publications_by_name"
COMPARED = ("dataset_id", "table", "version", "fingerprint")
RUNS_AT_ONCE = 1000
SOME = sa.text(
    "SELECT r.snapshot_sha256, (SELECT p.report FROM runtime_publications p WHERE p.project_id = r.project_id"
    " AND p.period = r.period AND p.snapshot_sha256 = r.snapshot_sha256 ORDER BY p.number DESC LIMIT 1) AS report"
    " FROM runtime_runs r WHERE r.published_at IS NOT NULL AND r.snapshot_sha256 > :last"
    " ORDER BY r.snapshot_sha256 LIMIT :count"
)
KEEP = sa.text("UPDATE runtime_runs SET sources = :sources WHERE snapshot_sha256 = :digest")


def upgrade() -> None:
    """Bring the schema to this state."""
    op.add_column("runtime_runs", sa.Column("sources", sa.Text))
    op.create_index(INDEX, "runtime_publications", ["project_name", "period"])
    connection, last = op.get_bind(), ""
    while rows := connection.execute(SOME, {"last": last, "count": RUNS_AT_ONCE}).all():
        last = rows[-1].snapshot_sha256
        connection.execute(
            KEEP, [{"digest": row.snapshot_sha256, "sources": _read_sources(row.report)} for row in rows]
        )


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.drop_index(INDEX, "runtime_publications")
    op.drop_column("runtime_runs", "sources")


def _read_sources(report: str | None) -> str:
    found = json.loads(report or "{}").get("sources") or ()
    return json.dumps([{name: source.get(name) for name in COMPARED} for source in found])
