"""Outputs that are database tables: staged in a table of their own, then moved over in one transaction.

A ledger table beside the target remembers, for each project, period and output, the newest attempt that asked for it
and the snapshot that was published last. Claiming the row, early, fences off older attempts; holding it while the
period is replaced makes the check and the change one step; and a retry finds there what became of a commit whose answer
was lost.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions

from spark_jobs.credentials import Credentials, redact
from spark_jobs.errors import JobError
from spark_jobs.jvm import Database, DatabaseError, connect_database, find_driver
from spark_jobs.sinks.attempts import Attempt, make_replaced_error
from spark_jobs.sinks.dialects import Dialect, find_dialect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.snapshot import OutputOperation

LEDGER = "runtime_publish_ledger"
PERIOD_COLUMN = "_period"
# Options of the plan that are Spark's own; all others are the driver's connection properties.
_SPARK_OPTIONS = frozenset(
    {"url", "dbtable", "query", "driver", "numpartitions", "batchsize", "fetchsize", "isolationlevel", "truncate"}
    | {"partitioncolumn", "lowerbound", "upperbound", "sessioninitstatement", "querytimeout", "createtableoptions"}
)
_KEY = ("target", "project", "period", "seq")


@dataclass(frozen=True)
class JdbcTarget:
    """The table that an output publishes to, and who asks."""

    spark: SparkSession
    output: OutputOperation
    attempt: Attempt
    periods: tuple[str, ...]
    """Values of `_period` that this run replaces: its own, and those of the finer periods it was read from."""
    read_credentials: Callable[[], Credentials]

    @property
    def url(self) -> str:
        """The JDBC URL."""
        return self.output.destination.options["url"]

    @property
    def dialect(self) -> Dialect:
        """The database's dialect."""
        return find_dialect(self.url)

    @property
    def schema(self) -> str | None:
        """The schema, when the table's name has one."""
        head, dot, _ = self._table.partition(".")
        return head if dot else None

    @property
    def name(self) -> str:
        """The table's own name."""
        return self._table.partition(".")[2] or self._table

    @property
    def _table(self) -> str:
        table = self.output.destination.table
        if table is None:
            raise JobError("OUTPUT_002", "a JDBC destination names no table", mark=self.output.mark)
        return table

    @property
    def table(self) -> str:
        """The target, quoted."""
        return self.dialect.quote_table(self.schema, self.name)

    @property
    def ledger(self) -> str:
        """The ledger, quoted."""
        return self.dialect.quote_table(self.schema, LEDGER)

    @property
    def stage_prefix(self) -> str:
        """What the names of all stage tables of this project, period and output begin with."""
        key = "\0".join([self._table, self.attempt.project_id, self.attempt.period])
        return f"rt_stage_{hashlib.sha256(key.encode()).hexdigest()[:10]}_{self.output.seq}_"

    @property
    def stage_name(self) -> str:
        """Name of this attempt's stage table."""
        return f"{self.stage_prefix}{self.attempt.token}_{self.attempt.nonce}"

    @property
    def stage(self) -> str:
        """This attempt's stage table, quoted."""
        return self.dialect.quote_table(self.schema, self.stage_name)

    @property
    def columns(self) -> str:
        """The output's columns, quoted."""
        return ", ".join(self.dialect.quote(column.name) for column in self.output.columns)

    @contextmanager
    def connect(self) -> Iterator[Database]:
        """Open a connection whose work is dropped unless it was committed."""
        given = self.output.destination.options
        own = {name: value for name, value in given.items() if name.lower() not in _SPARK_OPTIONS}
        properties = {**self.dialect.writer_options, **own}
        driver = {"driver": given["driver"]} if "driver" in given else {}
        database = connect_database(self.spark, self.url, {**properties, **driver}, self.read_credentials())
        try:
            for sql in self.dialect.session_sql:
                database.execute(sql)
            database.commit()
            yield database
        except BaseException:
            with contextlib.suppress(DatabaseError):
                database.rollback()
            raise
        finally:
            database.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the database says into an error of this output."""
        try:
            yield
        except DatabaseError as failure:
            raise self.make_error(str(failure)) from None

    def make_error(self, reason: str) -> JobError:
        """Return the error of a write that did not happen."""
        return JobError(
            "OUTPUT_003",
            f"writing to {self.output.destination.display} failed: {redact(reason).strip()}",
            hint="nothing was published; run it again",
            mark=self.output.mark,
        )


class JdbcOutput:
    """One output on its way into a database table."""

    def __init__(self, target: JdbcTarget) -> None:
        self._target = target
        self.rows = 0

    def claim(self) -> None:
        """Become the newest attempt in the ledger, remove what older ones left, and make the stage table."""
        target = self._target
        with target.explained(), target.connect() as database:
            _make_ledger(target, database)
            token, _, _ = _lock_ledger_row(target, database, self._key)
            if token > target.attempt.token:
                raise make_replaced_error(target.attempt.token, token)
            _update_ledger(target, database, self._key, {"token": target.attempt.token, "nonce": target.attempt.nonce})
            database.commit()
            for name in database.find_tables(target.schema, target.stage_prefix):
                _drop_quietly(database, target.dialect.quote_table(target.schema, name))
            _create_table(target, database, target.stage)
            database.commit()

    def add(self, frame: DataFrame) -> int:
        """Write rows into the stage table and return how many there were.

        The rows are computed first: Spark's JDBC writer reports no observation, commits every partition by itself, and
        would hold its connections for as long as the computation takes.
        """
        counted = Observation()
        computed = frame.observe(counted, functions.count(functions.lit(1)).alias("rows")).localCheckpoint()
        added = int(counted.get["rows"])
        if added:
            computed.write.format("jdbc").options(**self._make_writer_options()).mode("append").save()
        self.rows += added
        return added

    def publish(self) -> None:
        """Replace the period's rows in one transaction; a commit that seemed to fail is looked up."""
        target = self._target
        with target.explained():
            try:
                with target.connect() as database:
                    self._replace(database)
                    database.commit()
            except DatabaseError:
                if not self._was_committed():
                    raise

    def abandon(self) -> None:
        """Remove the stage table; a database that cannot be reached keeps it for the next attempt to remove."""
        with contextlib.suppress(DatabaseError, JobError), self._target.connect() as database:
            _drop_quietly(database, self._target.stage)

    @property
    def _key(self) -> tuple[str, str, str, int]:
        attempt = self._target.attempt
        return (self._target.name, attempt.project_id, attempt.period, self._target.output.seq)

    def _replace(self, database: Database) -> None:
        target = self._target
        # One writer at a time for a table: two projects that replace the same period must not both insert.
        _lock_ledger_row(target, database, (target.name, "", "", 0))
        token, nonce, digest = _lock_ledger_row(target, database, self._key)
        if (token, nonce) != (target.attempt.token, target.attempt.nonce):
            raise make_replaced_error(target.attempt.token, token)
        self._check_stage(database)
        if digest != target.attempt.digest or not self._holds_stage(database):
            self._move_rows(database)
        _update_ledger(
            target,
            database,
            self._key,
            {"digest": target.attempt.digest, "published_token": target.attempt.token, "row_count": self.rows},
        )
        database.execute(f"DROP TABLE {target.stage}")

    def _move_rows(self, database: Database) -> None:
        target = self._target
        if self._find_target(database) is None:
            _create_table(target, database, target.table)
        condition, values = self._condition
        database.execute(f"DELETE FROM {target.table}{condition}", *values)
        columns = target.columns
        moved = database.execute(f"INSERT INTO {target.table} ({columns}) SELECT {columns} FROM {target.stage}")
        if moved != self.rows:
            raise target.make_error(f"{moved} rows arrived of {self.rows}")

    def _check_stage(self, database: Database) -> None:
        target = self._target
        (found,) = database.query(f"SELECT COUNT(*) FROM {target.stage}")[0]
        if int(found) != self.rows:
            raise target.make_error(f"{found} rows were staged of {self.rows}")
        self._check_target(database)
        if target.output.write_mode == "overwrite":
            return
        condition, values = self._condition
        (inside,) = database.query(f"SELECT COUNT(*) FROM {target.stage}{condition}", *values)[0]
        if int(inside) != self.rows:
            foreign = self.rows - int(inside)
            raise target.make_error(f"{foreign} rows belong to another period than {', '.join(target.periods)}")

    def _check_target(self, database: Database) -> None:
        """Refuse a table that lacks columns or would round numbers."""
        found = self._find_target(database)
        if found is None:
            return
        missing = [column.name for column in self._target.output.columns if column.name not in found]
        if missing:
            raise self._target.make_error(f"the table has no column {', '.join(missing[:8])}")
        staged = database.describe(self._target.stage)
        rounded = [
            name
            for name, (_, _, scale) in staged.items()
            if 0 < found[name][2] < scale or _is_whole(found[name], scale)
        ]
        if rounded:
            raise self._target.make_error(f"the table keeps fewer decimal places in {', '.join(rounded[:8])}")

    def _find_target(self, database: Database) -> dict[str, tuple[int, int, int]] | None:
        target = self._target
        if target.name not in database.find_tables(target.schema, target.name):
            return None
        return database.describe(target.table)

    def _holds_stage(self, database: Database) -> bool:
        """Tell whether the table holds these very rows already, so that there is nothing to repeat."""
        target = self._target
        if target.dialect.difference is None or self._find_target(database) is None:
            return False
        condition, values = self._condition
        (found,) = database.query(f"SELECT COUNT(*) FROM {target.table}{condition}", *values)[0]
        if int(found) != self.rows:
            return False
        columns = target.columns
        difference = (
            f"SELECT COUNT(*) FROM (SELECT {columns} FROM {target.stage} {target.dialect.difference} "
            f"SELECT {columns} FROM {target.table}{condition}) missing"
        )
        (missing,) = database.query(difference, *values)[0]
        return int(missing) == 0

    @property
    def _condition(self) -> tuple[str, tuple[str, ...]]:
        """The rows that this run replaces: one condition for deleting, checking and comparing."""
        if self._target.output.write_mode == "overwrite":
            return "", ()
        marks = ", ".join("?" for _ in self._target.periods)
        return f" WHERE {self._target.dialect.quote(PERIOD_COLUMN)} IN ({marks})", self._target.periods

    def _was_committed(self) -> bool:
        """Ask the ledger what became of a transaction whose answer did not arrive."""
        target = self._target
        sql = f"SELECT digest, published_token, nonce FROM {target.ledger} WHERE {_KEY_CONDITION}"
        try:
            with target.connect() as database:
                found = database.query(sql, *self._key)
        except DatabaseError:
            return False
        mine = (target.attempt.digest, target.attempt.token, target.attempt.nonce)
        return [(digest, None if token is None else int(token), nonce) for digest, token, nonce in found] == [mine]

    def _make_writer_options(self) -> dict[str, str]:
        target = self._target
        credentials = target.read_credentials()
        options = {
            "numPartitions": "4",
            "batchsize": "5000",
            "isolationLevel": "READ_COMMITTED",
            **target.dialect.writer_options,
            **target.output.destination.options,
            **credentials.options,
            "dbtable": target.stage,
        }
        driver = find_driver(target.url, options)
        named = {"driver": driver, "user": credentials.user, "password": credentials.password}
        return options | {name: value for name, value in named.items() if value is not None}


_KEY_CONDITION = " AND ".join(f"{name} = ?" for name in _KEY)


def _make_ledger(target: JdbcTarget, database: Database) -> None:
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


def _lock_ledger_row(
    target: JdbcTarget, database: Database, key: tuple[str, str, str, int]
) -> tuple[int, str | None, str | None]:
    """Return token, nonce and published digest of a ledger row that nobody else can change until the commit."""
    dialect = target.dialect
    ledger = f"{target.ledger}{dialect.lock_hint}"
    sql = f"SELECT token, nonce, digest FROM {ledger} WHERE {_KEY_CONDITION}{dialect.lock_suffix}"
    found = database.query(sql, *key)
    if not found:
        _insert_ledger_row(target, key)
        found = database.query(sql, *key)
    token, nonce, digest = found[0]
    return int(token), nonce, digest


def _insert_ledger_row(target: JdbcTarget, key: tuple[str, str, str, int]) -> None:
    with target.connect() as other:
        try:
            other.execute(f"INSERT INTO {target.ledger} ({', '.join(_KEY)}, token) VALUES (?, ?, ?, ?, 0)", *key)
            other.commit()
        except DatabaseError as failure:
            # Class 23 is a key that is there already: another attempt was faster.
            if not (failure.state or "").startswith("23"):
                raise


def _update_ledger(
    target: JdbcTarget, database: Database, key: tuple[str, str, str, int], values: Mapping[str, str | int]
) -> None:
    changes = ", ".join(f"{name} = ?" for name in values)
    database.execute(f"UPDATE {target.ledger} SET {changes} WHERE {_KEY_CONDITION}", *values.values(), *key)


def _create_table(target: JdbcTarget, database: Database, table: str) -> None:
    columns = ", ".join(
        f"{target.dialect.quote(column.name)} {target.dialect.get_type(column.type)}"
        for column in target.output.columns
    )
    database.execute(f"CREATE TABLE {table} ({columns})")


def _drop_quietly(database: Database, table: str) -> None:
    """Drop a table; one that is held by a writer that is not quite dead stays for the next attempt."""
    try:
        database.execute(f"DROP TABLE {table}")
        database.commit()
    except DatabaseError:
        database.rollback()


def _is_whole(described: tuple[int, int, int], wanted_scale: int) -> bool:
    """Tell whether a column is an integer, or a number without decimal places, where places are wanted."""
    kind, precision, scale = described
    integers = (-6, 4, 5, -5)
    return wanted_scale > 0 and (kind in integers or (kind in (2, 3) and precision > 0 and scale == 0))
