"""Indexes for the last runs of each project and period, and to runs by their project's name."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INDEXES = {
    "runtime_runs_by_order": ["project_id", "period", "started_at", "token", "snapshot_sha256"],
    "runtime_runs_by_publication": ["project_id", "period", "published_at", "token", "snapshot_sha256"],
    "runtime_runs_by_name": ["project_name", "period"],
}


def upgrade() -> None:
    """Bring the schema to this state."""
    for name, columns in INDEXES.items():
        op.create_index(name, "runtime_runs", columns)
    op.drop_index("runtime_runs_by_period", "runtime_runs")


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.create_index("runtime_runs_by_period", "runtime_runs", ["project_id", "period"])
    for name in INDEXES:
        op.drop_index(name, "runtime_runs")
