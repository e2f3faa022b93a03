"""The ledger: a table beside the outputs of a database that remembers attempts and publications.

A row for each project, period and output holds the newest attempt that asked for it, and the digest that was published
last. Whoever holds the row's lock decides alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.jvm import Database, DatabaseError
from spark_jobs.sinks.jdbc_target import LEDGER, JdbcTarget

LedgerKey = tuple[str, str, str, int]
"""Target, project, period, seq."""

_KEY = ("target", "project", "period", "seq")
KEY_CONDITION = " AND ".join(f"{name} = ?" for name in _KEY)


def make_ledger(target: JdbcTarget, database: Database) -> None:
    """Create the ledger where it is missing, also when several jobs begin at once."""
    if LEDGER in database.find_tables(target.schema, LEDGER):
        return
    text = target.dialect.key_type
    number = target.dialect.get_type("bigint")
    columns = (
        f"target {text} NOT NULL, project {text} NOT NULL, period {text} NOT NULL, seq {number} NOT NULL, "
        f"token {number} NOT NULL, nonce {text}, digest {text}, published_token {number}, row_count {number}"
    )
    try:
        database.execute(f"CREATE TABLE {target.ledger} ({columns}, PRIMARY KEY ({', '.join(_KEY)}))")
        database.commit()
    except DatabaseError:
        # Another job made it at the same moment.
        database.rollback()
        if LEDGER not in database.find_tables(target.schema, LEDGER):
            raise


def lock_row(target: JdbcTarget, database: Database, key: LedgerKey) -> tuple[int, str | None, str | None]:
    """Return token, nonce and published digest of a ledger row that nobody else can change until the commit."""
    dialect = target.dialect
    ledger = f"{target.ledger}{dialect.lock_hint}"
    sql = f"SELECT token, nonce, digest FROM {ledger} WHERE {KEY_CONDITION}{dialect.lock_suffix}"
    found = database.query(sql, *key)
    if not found:
        _insert_row(target, key)
        found = database.query(sql, *key)
    token, nonce, digest = found[0]
    return int(token), nonce, digest


def _insert_row(target: JdbcTarget, key: LedgerKey) -> None:
    with target.connect() as other:
        try:
            other.execute(f"INSERT INTO {target.ledger} ({', '.join(_KEY)}, token) VALUES (?, ?, ?, ?, 0)", *key)
            other.commit()
        except DatabaseError as failure:
            # Class 23 is a key that is there already: another attempt was faster.
            if not (failure.state or "").startswith("23"):
                raise


def update_row(target: JdbcTarget, database: Database, key: LedgerKey, values: Mapping[str, str | int]) -> None:
    """Change columns of a ledger row."""
    changes = ", ".join(f"{name} = ?" for name in values)
    database.execute(f"UPDATE {target.ledger} SET {changes} WHERE {KEY_CONDITION}", *values.values(), *key)
