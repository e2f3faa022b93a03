"""Bringing a database to the schema of this code."""

from __future__ import annotations

import logging
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy import inspect as inspect_database

from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.core.registry.tables import REVISIONS, VERSION_TABLE


def is_current(connection: Connection) -> bool:
    """Return whether the schema is the one of this code; INFRA_002 when it is newer."""
    if not inspect_database(connection).has_table(VERSION_TABLE):
        return False
    revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if revision is not None and revision not in REVISIONS:
        raise InfrastructureError(
            Problem(
                "INFRA_002",
                f"the registry has schema {revision}, which is newer than this version knows ({REVISIONS[-1]})",
                "upgrade airflow-provider-runtime here to the version that the others use",
            )
        )
    return bool(revision == REVISIONS[-1])


def upgrade(connection: Connection) -> None:
    """Run the migrations that are missing; the caller's transaction keeps everybody else out."""
    if is_current(connection):
        return
    # Alembic costs more to import than everything else here, and is needed once in a registry's life.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    # Each migration would be a line in the log of the first task that runs.
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    command.upgrade(config, "head")
