"""The ledger: a table beside the outputs of a database that remembers attempts and publications.

A row for each table, project and period holds the newest attempt that asked for it, and the digest that was published
last. Whoever holds the row's lock decides alone. Older versions of this package kept a row for each `seq` of an output;
all rows of a key are taken as one, so that an attempt of theirs is fenced off as well.

A row for each period that was locked holds the lock's mark, so that the runs of other registries find it.

A row for each other period whose rows an input has brought along, a day's in a month's run, names the run that wrote
them last: when a later snapshot reads other periods, that run replaces them as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.own_tables import EVERY, LEDGER, name_lock
from spark_jobs.sinks.jdbc_target import JdbcTarget
from spark_jobs.spark.databases import Database, DatabaseError

LedgerKey = tuple[str, str, str]
"""Target, project, period."""

KEY_CONDITION = "target = ? AND project = ? AND period = ?"


def make_ledger(target: JdbcTarget, database: Database) -> None:
    """Create the ledger where it is missing, also when several jobs begin at once."""
    text = target.dialect.key_type
    number = target.dialect.get_type("bigint")
    columns = (
        f"target {text} NOT NULL, project {text} NOT NULL, period {text} NOT NULL, seq {number} NOT NULL, "
        f"token {number} NOT NULL, nonce {text}, digest {text}, published_token {number}, row_count {number}, "
        f"PRIMARY KEY (target, project, period, seq)"
    )
    target.create_missing(database, LEDGER, columns)


def add_row(target: JdbcTarget, database: Database, key: LedgerKey) -> None:
    """Make sure that a ledger row is there and committed: a row that is missing cannot be locked."""
    if not database.query(f"SELECT token FROM {target.ledger} WHERE {KEY_CONDITION}", *key):
        try:
            sql = f"INSERT INTO {target.ledger} (target, project, period, seq, token) VALUES (?, ?, ?, 0, 0)"
            database.execute(sql, *key)
        except DatabaseError as failure:
            database.rollback()
            # Class 23 is a key that is there already: another attempt was faster.
            if not (failure.state or "").startswith("23"):
                raise
    database.commit()


def lock_row(target: JdbcTarget, database: Database, key: LedgerKey) -> tuple[int, str | None, str | None]:
    """Return token, nonce and published digest of a ledger row that nobody else can change until the commit."""
    dialect = target.dialect
    ledger = f"{target.ledger}{dialect.lock_hint}"
    sql = f"SELECT token, nonce, digest FROM {ledger} WHERE {KEY_CONDITION}{dialect.lock_suffix}"
    found = [(int(token), nonce, digest) for token, nonce, digest in database.query(sql, *key)]
    if not found:
        raise target.make_error(f"the row of {', '.join(key)} is gone from {LEDGER}")
    return max(found, key=lambda row: row[0])


def update_row(target: JdbcTarget, database: Database, key: LedgerKey, values: Mapping[str, str | int]) -> None:
    """Change columns of a ledger row."""
    changes = ", ".join(f"{name} = ?" for name in values)
    database.execute(f"UPDATE {target.ledger} SET {changes} WHERE {KEY_CONDITION}", *values.values(), *key)


def read_published_token(target: JdbcTarget, database: Database, key: LedgerKey) -> int | None:
    """Return the token of the attempt that published last."""
    found = database.query(f"SELECT published_token FROM {target.ledger} WHERE {KEY_CONDITION}", *key)
    return max((int(token) for (token,) in found if token is not None), default=None)


def list_other_writers(target: JdbcTarget, database: Database, period: str | None) -> list[str]:
    """Return the other projects that have published a period of the table, or any where none is given."""
    sql = f"SELECT project, period FROM {target.ledger} WHERE target = ? AND published_token IS NOT NULL"
    found = {(str(project), str(written)) for project, written in database.query(sql, target.name)}
    mine = {EVERY, target.attempt.project_id}
    return sorted(project for project, written in found if project not in mine and period in {None, written})


def find_lock(target: JdbcTarget, database: Database) -> tuple[str, LockMark] | None:
    """Return the run's period, or one that it is part of, with the mark that a lock has left here."""
    attempt = target.attempt
    periods = {name_lock(attempt.calendar, period): period for period in (attempt.period, *attempt.enclosing_periods)}
    marks = ", ".join("?" for _ in periods)
    sql = f"SELECT period, digest FROM {target.ledger} WHERE target = ? AND project = ? AND period IN ({marks})"
    found = database.query(sql, target.name, EVERY, *periods)
    return next(((periods[str(key)], LockMark.decode(str(mark).encode())) for key, mark in found), None)


def read_brought(target: JdbcTarget, database: Database) -> set[str]:
    """Return the other periods whose rows this project's runs of this period have written, and nobody since."""
    sql = f"SELECT period FROM {target.ledger} WHERE target = ? AND project = ? AND digest = ?"
    return {str(period) for (period,) in database.query(sql, target.name, EVERY, _name_writer(target))}


def write_brought(target: JdbcTarget, database: Database) -> None:
    """Note which other periods' rows this run has written; those of its own period are nobody else's any more."""
    known = read_brought(target, database)
    brought = set(target.periods) - {target.attempt.period}
    writer = _name_writer(target)
    for period in sorted(known - brought | {target.attempt.period}):
        database.execute(f"DELETE FROM {target.ledger} WHERE {KEY_CONDITION}", target.name, EVERY, period)
    for period in sorted(brought - known):
        key = (target.name, EVERY, period)
        if not database.execute(f"UPDATE {target.ledger} SET digest = ? WHERE {KEY_CONDITION}", writer, *key):
            columns = "(target, project, period, seq, token, digest) VALUES (?, ?, ?, 0, 0, ?)"
            database.execute(f"INSERT INTO {target.ledger} {columns}", *key, writer)


def _name_writer(target: JdbcTarget) -> str:
    return f"{target.attempt.project_id}/{target.attempt.period}"
