"""How databases differ: quotes, types, and what a session needs to be set to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spark_jobs.contract.tables import parse_decimal


@dataclass(frozen=True, slots=True)
class Dialect:
    """What SQL for one kind of database looks like."""

    name: str
    types: Mapping[str, str]
    key_type: str = "varchar(250)"
    table_suffix: str = ""
    """Ends the statement that makes a table."""
    unsafe_table_sql: str | None = None
    """Asks, of a schema (or NULL) and a table, what keeps it from being changed in transactions."""
    has_schemas: bool = True
    """Whether a schema is one of a database's, and not a database of its own."""
    quote_open: str = '"'
    quote_close: str = '"'
    lock_suffix: str = " FOR UPDATE"
    lock_hint: str = ""
    exact_text: str | None = "{}"
    """Has a text compared as it is, whatever its column's collation takes for equal; None where texts cannot be."""
    schema_sql: str | None = None
    """Asks for the schema that a quoted name without one leads to, when it is another than that of new tables."""
    session_sql: tuple[str, ...] = ()
    """Run when a connection begins."""
    connection_options: Mapping[str, str] = field(default_factory=dict)
    """Properties of the driver that every connection has, whatever is asked for."""
    writer_options: Mapping[str, str] = field(default_factory=dict)
    export_snapshot_sql: tuple[str, ...] = ()
    """Keeps a transaction open however long it waits; the last statement names a snapshot that others can read."""
    import_snapshot_sql: str = ""
    """Has another session read an exported snapshot."""
    has_plain_times: bool = False
    """That dates and timestamps are ISO when they are asked for as texts, which no zone or calendar of Java changes."""

    def quote(self, name: str) -> str:
        """Return a name as an identifier, whatever it holds."""
        return self.quote_open + name.replace(self.quote_close, self.quote_close * 2) + self.quote_close

    def quote_table(self, schema: str | None, name: str) -> str:
        """Return a table's name, with its schema when it has one."""
        return self.quote(name) if schema is None else f"{self.quote(schema)}.{self.quote(name)}"

    def quote_full_name(self, name: str) -> str:
        """Return a table's name as the plan has it, schema and all, quoted."""
        schema, dot, table = name.partition(".")
        return self.quote_table(schema, table) if dot else self.quote(name)

    def get_type(self, spark_type: str) -> str:
        """Return the column type that holds a Spark type exactly."""
        decimal = parse_decimal(spark_type)
        if decimal is not None:
            return f"{self.types['decimal']}({decimal[0]},{decimal[1]})"
        return self.types[spark_type.lower()]


_STANDARD_TYPES = {
    "string": "varchar(4000)",
    "bigint": "bigint",
    "decimal": "numeric",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}

IDLE_SECONDS = 30
"""How long a writer that was stopped inside a transaction may keep its locks, where a database has such a setting."""
LOCK_SECONDS = 120
_MYSQL_SESSION = (
    f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}",
    f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}",
    # Otherwise a server may cut texts that are too long, and keep days that are none.
    "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES')",
    # A column `timestamp` is converted from the session's zone to UTC and back.
    "SET SESSION time_zone = '+00:00'",
)
_MYSQL_TEXT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

STANDARD = Dialect("standard", _STANDARD_TYPES)

_DIALECTS = {
    "postgresql": Dialect(
        "postgresql",
        {**_STANDARD_TYPES, "string": "text", "timestamp": "timestamptz"},
        key_type="text",
        exact_text='CAST({} AS text) COLLATE "C"',
        # With the usual search path "$user", public a user may have a schema, and the table be in `public`.
        schema_sql=(
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.oid = to_regclass(?) AND n.nspname <> current_schema()"
        ),
        session_sql=(
            f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'",
            f"SET lock_timeout = '{LOCK_SECONDS}s'",
            # A `timestamp` without a zone holds UTC, whatever the zone of this process.
            "SET TIME ZONE 'UTC'",
        ),
        writer_options={"reWriteBatchedInserts": "true", "tcpKeepAlive": "true"},
        export_snapshot_sql=("SET idle_in_transaction_session_timeout = 0", "SELECT pg_export_snapshot()"),
        import_snapshot_sql="BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{}'",
        has_plain_times=True,
    ),
    "mysql": Dialect(
        "mysql",
        {**_STANDARD_TYPES, "string": f"longtext {_MYSQL_TEXT}", "decimal": "decimal", "timestamp": "datetime(6)"},
        key_type=f"varchar(180) {_MYSQL_TEXT}",
        table_suffix=" ENGINE = InnoDB",
        unsafe_table_sql=(
            "SELECT CONCAT('its engine ', t.engine, ' has no transactions') FROM information_schema.tables t "
            "JOIN information_schema.engines e ON e.engine = t.engine "
            "WHERE t.table_schema = COALESCE(?, DATABASE()) AND t.table_name = ? AND e.transactions <> 'YES'"
        ),
        has_schemas=False,
        quote_open="`",
        quote_close="`",
        exact_text="CAST(CONVERT({} USING utf8mb4) AS BINARY)",
        # A connection that says nothing for this long is closed, which ends its transaction.
        session_sql=(*_MYSQL_SESSION, f"SET SESSION wait_timeout = {IDLE_SECONDS}"),
        writer_options={"rewriteBatchedStatements": "true"},
    ),
    "sqlserver": Dialect(
        "sqlserver",
        {
            **_STANDARD_TYPES,
            "string": "nvarchar(max)",
            "decimal": "decimal",
            "boolean": "bit",
            "timestamp": "datetimeoffset(6)",
        },
        key_type="nvarchar(250)",
        quote_open="[",
        quote_close="]",
        lock_suffix="",
        lock_hint=" WITH (UPDLOCK, ROWLOCK)",
        exact_text="CAST(CAST({} AS nvarchar(max)) AS varbinary(max))",
        session_sql=(f"SET LOCK_TIMEOUT {LOCK_SECONDS}000",),
    ),
    "oracle": Dialect(
        "oracle",
        {
            "string": "clob",
            "bigint": "number(19)",
            "decimal": "number",
            "boolean": "number(1)",
            "date": "date",
            "timestamp": "timestamp with time zone",
        },
        key_type="varchar2(250)",
        lock_suffix=f" FOR UPDATE WAIT {LOCK_SECONDS}",
        # A large text cannot be grouped by.
        exact_text=None,
        session_sql=(f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {LOCK_SECONDS}",),
    ),
    "db2": Dialect(
        "db2", {**_STANDARD_TYPES, "decimal": "decimal"}, session_sql=(f"SET CURRENT LOCK TIMEOUT {LOCK_SECONDS}",)
    ),
}
_DIALECTS["mariadb"] = replace(
    _DIALECTS["mysql"],
    name="mariadb",
    session_sql=(*_MYSQL_SESSION, f"SET SESSION idle_transaction_timeout = {IDLE_SECONDS}"),
    # Spark does not know this kind of database and quotes names by ", which begins a text here unless set otherwise.
    connection_options={
        "sessionVariables": "sql_mode='ANSI_QUOTES,STRICT_ALL_TABLES',time_zone='+00:00'",
        # Otherwise the server that a URL leads to may ask for files of this machine.
        "allowLocalInfile": "false",
    },
)


def find_dialect(url: str) -> Dialect:
    """Return the dialect for a JDBC URL; the SQL standard's when the database is not known."""
    return _DIALECTS.get(url.removeprefix("jdbc:").split(":", 1)[0].lower(), STANDARD)
