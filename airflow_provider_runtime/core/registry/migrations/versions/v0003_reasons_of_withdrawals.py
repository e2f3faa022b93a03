"""Why an override of a check was withdrawn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this state."""
    op.add_column("runtime_overrides", sa.Column("withdrawn_reason", sa.Text))


def downgrade() -> None:
    """Bring the schema back to the state before."""
    op.drop_column("runtime_overrides", "withdrawn_reason")
