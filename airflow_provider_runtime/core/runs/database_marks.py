"""The mark of a lock in a database: a row of the ledger beside the table. PostgreSQL only, which Python can ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import get_option
from spark_jobs.contract.own_tables import EVERY, LEDGER, name_lock

SCHEME = "jdbc:postgresql:"
CONNECT_SECONDS = 10
_PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_FIND_SCHEMA = (
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"
)


def mark_table(
    destination: Destination, calendar: str, period: str, mark: LockMark, read_properties: PropertyReader
) -> bool:
    """Record a lock in the ledger beside a table; return whether that was possible."""
    url = get_option(destination.options, "url") or ""
    if not url.startswith(SCHEME):
        return False
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        return False
    try:
        reference = destination.credential_ref
        place = read_place(url, {**destination.options, **(read_properties(reference) if reference else {})})
        with psycopg.connect(**place, connect_timeout=CONNECT_SECONDS) as connection:
            head, dot, tail = (destination.table or "").partition(".")
            schema, table = (head, tail) if dot else (get_option(destination.options, "schema") or "", head)
            if not schema:
                found = connection.execute(_FIND_SCHEMA, [sql.Identifier(table).as_string(connection)]).fetchone()
                schema = found[0] if found else ""
            insert = sql.SQL(
                "INSERT INTO {} (target, project, period, seq, token, digest) VALUES (%s, %s, %s, 0, 0, %s)"
                " ON CONFLICT (target, project, period, seq) DO UPDATE SET digest = EXCLUDED.digest"
            ).format(sql.Identifier(schema, LEDGER))
            connection.execute(insert, [table, EVERY, name_lock(calendar, period), mark.encode().decode()])
    except (psycopg.Error, RuntimeProviderError, ValueError):
        # The table is gone, the server is down, or access is refused.
        return False
    return True


def read_place(url: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return where a JDBC URL of PostgreSQL leads to, and as whom."""
    parts = urlsplit(url.removeprefix("jdbc:"))
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()} | dict(properties)
    hosts = [
        host.rpartition(":") if ":" in host.rpartition("]")[2] else (host, "", "") for host in parts.netloc.split(",")
    ]
    place: dict[str, Any] = {
        "host": ",".join(host.strip("[]") or "localhost" for host, _, _ in hosts),
        "port": ",".join(port or "5432" for _, _, port in hosts),
        "dbname": unquote(parts.path.lstrip("/")) or None,
        "user": get_option(given, "user"),
        "password": get_option(given, "password"),
        **{name: get_option(given, name) for name in _PASSED_ON},
    }
    if get_option(given, "currentSchema"):
        place["options"] = f"-c search_path={get_option(given, 'currentSchema')}"
    return {name: value for name, value in place.items() if value is not None}
