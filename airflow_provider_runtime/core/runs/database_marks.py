"""The mark of a lock in a database: a row of the ledger beside the table, where Python can ask the database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import get_option
from spark_jobs.contract.own_tables import EVERY, LEDGER, name_lock

CONNECT_SECONDS = 10
MYSQL_MARK_CHARACTERS = 180
"""What the ledger's column holds there."""
_PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_UNSAFE = ("false", "disable", "disabled", "none")
_FIND_SCHEMA = (
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"
)


def mark_table(
    destination: Destination, calendar: str, period: str, mark: LockMark, read_properties: PropertyReader
) -> bool:
    """Record a lock in the ledger beside a table; return whether that was possible."""
    url = get_option(destination.options, "url") or ""
    leave_mark = _MARKERS.get(url.removeprefix("jdbc:").partition(":")[0])
    if leave_mark is None:
        return False
    head, dot, tail = (destination.table or "").partition(".")
    schema, table = (head, tail) if dot else (get_option(destination.options, "schema") or "", head)
    try:
        reference = destination.credential_ref
        properties = {**destination.options, **(read_properties(reference) if reference else {})}
        return leave_mark(url, properties, schema, table, name_lock(calendar, period), mark)
    except (ImportError, RuntimeProviderError, ValueError):
        return False


def _mark_postgresql(
    url: str, properties: Mapping[str, str], schema: str, table: str, lock: str, mark: LockMark
) -> bool:
    import psycopg
    from psycopg import sql

    try:
        with psycopg.connect(**read_place(url, properties), connect_timeout=CONNECT_SECONDS) as connection:
            if not schema:
                found = connection.execute(_FIND_SCHEMA, [sql.Identifier(table).as_string(connection)]).fetchone()
                schema = found[0] if found else ""
            insert = sql.SQL(
                "INSERT INTO {} (target, project, period, seq, token, digest) VALUES (%s, %s, %s, 0, 0, %s)"
                " ON CONFLICT (target, project, period, seq) DO UPDATE SET digest = EXCLUDED.digest"
            ).format(sql.Identifier(schema, LEDGER))
            connection.execute(insert, [table, EVERY, lock, mark.encode().decode()])
    except psycopg.Error:
        # The table is gone, the server is down, or access is refused.
        return False
    return True


def _mark_mysql(url: str, properties: Mapping[str, str], schema: str, table: str, lock: str, mark: LockMark) -> bool:
    import pymysql

    place = read_mysql_place(url, properties)
    schema = schema or place.pop("database")
    ledger = ".".join("`" + name.replace("`", "``").replace("%", "%%") + "`" for name in (schema, LEDGER))
    insert = (
        f"INSERT INTO {ledger} (target, project, period, seq, token, digest) VALUES (%s, %s, %s, 0, 0, %s)"
        " ON DUPLICATE KEY UPDATE digest = VALUES(digest)"
    )
    try:
        with closing(pymysql.connect(**place, charset="utf8mb4", connect_timeout=CONNECT_SECONDS)) as connection:
            with connection.cursor() as cursor:
                cursor.execute(insert, [table, EVERY, lock, _shorten(mark)])
            connection.commit()
    except (pymysql.Error, OSError):
        return False
    return True


_MARKERS = {"postgresql": _mark_postgresql, "mariadb": _mark_mysql, "mysql": _mark_mysql}


def _shorten(mark: LockMark) -> str:
    """Return a mark that the ledger of MySQL holds; its reason may be cut."""
    over = len(mark.encode()) - MYSQL_MARK_CHARACTERS
    while over > 0 and mark.reason:
        mark = replace(mark, reason=mark.reason[: -min(over, 6)])
        over = len(mark.encode()) - MYSQL_MARK_CHARACTERS
    return mark.encode().decode()


def read_mysql_place(url: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return where a JDBC URL of MySQL or MariaDB leads to, and as whom; TLS verifies its certificate."""
    parts = urlsplit(url.removeprefix("jdbc:"))
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()} | dict(properties)
    place: dict[str, Any] = {
        "host": parts.hostname or "localhost",
        "port": parts.port or 3306,
        "database": unquote(parts.path.lstrip("/")),
        "user": get_option(given, "user"),
        "password": get_option(given, "password") or "",
    }
    modes = [get_option(given, name) for name in ("sslMode", "useSsl", "requireSSL")]
    if any(mode is not None and mode.lower() not in _UNSAFE for mode in modes):
        place["ssl"] = {"ca": get_option(given, "serverSslCert"), "check_hostname": True}
    return place


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
