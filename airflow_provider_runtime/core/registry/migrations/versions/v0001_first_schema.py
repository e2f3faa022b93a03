"""The first schema: definitions, runs, leases, periods, datasets, versions, slices."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this state."""
    _create_runs()
    _create_periods()
    _create_datasets()


def _create_runs() -> None:
    op.create_table(
        "runtime_definitions",
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("first_run_id", sa.Text, nullable=False),
    )
    op.create_table(
        "runtime_runs",
        sa.Column("snapshot_sha256", sa.String(80), primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("project_name", sa.Text, nullable=False),
        sa.Column("project_version", sa.Integer, nullable=False),
        sa.Column("calendar", sa.Text, nullable=False),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("published_at", sa.BigInteger),
        sa.Column("snapshot_uri", sa.Text),
        sa.Column("invocation", sa.Text),
        sa.Column("rows_in", sa.BigInteger),
        sa.Column("report", sa.Text),
        sa.Column("error", sa.Text),
    )
    op.create_index("runtime_runs_by_id", "runtime_runs", ["run_id"])
    op.create_index("runtime_runs_by_period", "runtime_runs", ["project_id", "period"])
    op.create_index("runtime_runs_by_start", "runtime_runs", ["started_at"])
    op.create_table(
        "runtime_leases",
        sa.Column("project_id", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("calendar", sa.Text, nullable=False),
        sa.Column("snapshot_sha256", sa.String(80), nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("heartbeat_millis", sa.BigInteger, nullable=False),
        sa.Column("expires_millis", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
    )


def _create_periods() -> None:
    op.create_table(
        "runtime_periods",
        sa.Column("calendar", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
    )
    op.create_table(
        "runtime_period_changes",
        sa.Column("calendar", sa.Text, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("previous", sa.String(16), nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


def _create_datasets() -> None:
    op.create_table(
        "runtime_datasets",
        sa.Column("dataset_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("latest_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "runtime_dataset_versions",
        sa.Column("dataset_id", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("created_millis", sa.BigInteger, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("snapshot_sha256", sa.String(80), nullable=False),
    )
    op.create_table(
        "runtime_slices",
        sa.Column("dataset_id", sa.Text, primary_key=True),
        sa.Column("first_version", sa.Integer, primary_key=True),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("uri", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("output_seq", sa.Integer, nullable=False),
        sa.Column("snapshot_sha256", sa.String(80), nullable=False),
        sa.Column("content", sa.Text),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("replaced_in", sa.Integer),
    )
    op.create_index("runtime_slices_by_period", "runtime_slices", ["dataset_id", "period"])
    op.create_table(
        "runtime_registrations",
        sa.Column("snapshot_sha256", sa.String(80), primary_key=True),
        sa.Column("token", sa.BigInteger, primary_key=True),
        sa.Column("output_seq", sa.Integer, primary_key=True),
        sa.Column("dataset_id", sa.Text, nullable=False),
        sa.Column("dataset_name", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("uri", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("created", sa.Boolean, nullable=False),
    )


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.drop_table("runtime_registrations")
    op.drop_table("runtime_slices")
    op.drop_table("runtime_dataset_versions")
    op.drop_table("runtime_datasets")
    op.drop_table("runtime_period_changes")
    op.drop_table("runtime_periods")
    op.drop_table("runtime_leases")
    op.drop_table("runtime_runs")
    op.drop_table("runtime_definitions")
