"""Where Alembic learns which connection to use: the one that holds the lock."""

from __future__ import annotations

from alembic import context

from airflow_provider_runtime.core.registry.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
