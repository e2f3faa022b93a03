"""Which attempt a decision is about, and what decides a run's rows beside definitions and data."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this state."""
    op.add_column("runtime_approvals", sa.Column("token", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("runtime_runs", sa.Column("basis", sa.Text))


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.drop_column("runtime_runs", "basis")
    op.drop_column("runtime_approvals", "token")
