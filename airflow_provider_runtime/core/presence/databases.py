"""Whether a table of a database is there, with rows of the period where its rows have one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_jobs.contract.options import get_option
from spark_jobs.contract.tables import Location, Table

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine import URL

_SERVER = re.compile(r"jdbc:(postgresql|mysql|mariadb)://([^/?;]+)/([^?;]*)(?:\?(.*))?", re.IGNORECASE)
_SQLITE = re.compile(r"jdbc:sqlite:(?:file:)?([^?]+)", re.IGNORECASE)
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
PATIENCE_SECONDS = 10


def has_rows(location: Location, table: Table, credentials: Mapping[str, str]) -> bool:
    """Return whether a table is there, and a period table has rows of the location's period.

    LookupError says that nothing here can ask this database.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError
    from sqlalchemy.pool import NullPool

    url = make_url(get_option(location.options, "url") or "", {**location.options, **credentials})
    timeout = {"timeout" if url.get_backend_name() == "sqlite" else "connect_timeout": PATIENCE_SECONDS}
    try:
        engine = create_engine(url, poolclass=NullPool, connect_args=timeout, hide_parameters=True)
    except (ImportError, NoSuchModuleError):
        raise LookupError(f"no driver of Python for {url.get_backend_name()}") from None
    with engine.connect() as connection:
        return _find_rows(connection, location, table)


def make_url(jdbc: str, properties: Mapping[str, str]) -> URL:
    """Return what SQLAlchemy calls a database; LookupError for one that it is not asked for."""
    from sqlalchemy.engine import URL, make_url

    if found := _SQLITE.fullmatch(jdbc):
        return URL.create("sqlite", database=found[1])
    found = _SERVER.fullmatch(jdbc)
    if found is None or "," in found[2]:
        raise LookupError("only Spark can ask this database")
    kind, server, database, query = found.groups()
    settings = dict(pair.partition("=")[::2] for pair in (query or "").split("&") if pair)
    named = {name.casefold(): value for name, value in {**settings, **properties}.items()}
    plain = make_url(f"{_DRIVERS[kind.lower()]}://{server}/{database}")
    schema = {"options": f"-csearch_path={named['currentschema']}"} if "currentschema" in named else {}
    tls = {name: named[name] for name in ("sslmode", "sslrootcert") if name in named and kind == "postgresql"}
    query_options = {**schema, **tls} if kind == "postgresql" else {}
    return plain.set(username=named.get("user"), password=named.get("password"), query=query_options)


def _find_rows(connection: Connection, location: Location, table: Table) -> bool:
    from sqlalchemy import column, inspect, literal, select
    from sqlalchemy import table as make_table

    schema, _, name = (location.table or "").rpartition(".")
    inspector = inspect(connection)
    spellings = dict.fromkeys([(name, schema), (name.lower(), schema.lower()), (name.upper(), schema.upper())])
    for written, inside in spellings:
        if not (inspector.has_table(written, inside or None) or written in inspector.get_view_names(inside or None)):
            continue
        if table.temporal.mode != "period" or location.period is None:
            return True
        columns = [found["name"] for found in inspector.get_columns(written, inside or None)]
        wanted = table.temporal.period_column
        period = next((found for found in columns if found.lower() == wanted.lower()), None)
        if period is None:
            return True
        rows = select(literal(1)).select_from(make_table(written, schema=inside or None))
        return connection.execute(rows.where(column(period) == location.period).limit(1)).first() is not None
    return False
