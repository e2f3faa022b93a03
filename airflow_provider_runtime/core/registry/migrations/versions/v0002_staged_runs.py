"""Staged runs, publications, overrides of checks, approvals, releases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NEW_TABLES = ("runtime_publications", "runtime_overrides", "runtime_approvals", "runtime_releases")
NEW_COLUMNS = ("who", "staged_until", "base_publication")
KNOWN_PUBLICATIONS = """
    INSERT INTO runtime_publications
        (project_id, period, number, project_name, run_id, snapshot_sha256, token, published_at, report)
    SELECT project_id, period, ROW_NUMBER() OVER (PARTITION BY project_id, period ORDER BY published_at, token),
        project_name, run_id, snapshot_sha256, token, published_at, COALESCE(report, '{}')
    FROM runtime_runs
    WHERE status = 'succeeded' AND published_at IS NOT NULL
"""


def upgrade() -> None:
    """Bring the schema to this state."""
    op.add_column("runtime_runs", sa.Column("who", sa.Text, nullable=False, server_default=""))
    op.add_column("runtime_runs", sa.Column("staged_until", sa.BigInteger))
    op.add_column("runtime_runs", sa.Column("base_publication", sa.Integer))
    op.create_table(
        "runtime_publications",
        sa.Column("project_id", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("project_name", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("snapshot_sha256", sa.String(80), nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("published_at", sa.BigInteger, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    _create_decisions()
    op.execute(KNOWN_PUBLICATIONS)


def _create_decisions() -> None:
    op.create_table(
        "runtime_overrides",
        sa.Column("project_id", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("check", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("withdrawn_by", sa.Text),
        sa.Column("withdrawn_at", sa.BigInteger),
    )
    op.create_table(
        "runtime_approvals",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("at", sa.BigInteger, primary_key=True),
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("preparer", sa.Text, nullable=False),
        sa.Column("approver", sa.Text, nullable=False),
        sa.Column("claimed_name", sa.Text),
        sa.Column("real_user", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
    )
    op.create_table(
        "runtime_releases",
        sa.Column("project_id", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Bring the schema back to the state before."""
    for table in NEW_TABLES:
        op.drop_table(table)
    for column in NEW_COLUMNS:
        op.drop_column("runtime_runs", column)
