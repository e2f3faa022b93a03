"""Outputs that are database tables: staged in a table of their own, then moved over in one transaction.

A ledger table beside the target remembers, for each table, project and period, the newest attempt that asked for it
and the snapshot that was published last. Claiming the row, early, fences off older attempts; holding it while the
period is replaced makes the check and the change one step; and a retry finds there what became of a commit whose answer
was lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions

from spark_jobs.contract.options import drop_options, merge_options
from spark_jobs.contract.own_tables import EVERY
from spark_jobs.contract.system_columns import PERIOD_COLUMN
from spark_jobs.contract.tables import Location
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import make_locked_error, make_replaced_error
from spark_jobs.sinks.jdbc_target import JdbcTarget
from spark_jobs.sinks.ledger import (
    KEY_CONDITION,
    LedgerKey,
    add_row,
    find_lock,
    list_other_writers,
    lock_row,
    make_ledger,
    read_brought,
    read_published_token,
    update_row,
    write_brought,
)
from spark_jobs.spark.databases import Database, DatabaseError, find_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.tables import Column

# JDBC's numbers of types, the last two of the floating ones Oracle's own.
_INTEGERS = (-6, 4, 5, -5)
_DECIMALS = (2, 3)
_TEXTS = (1, 12, -1, -9, -15, -16, 2005, 2011)
_FLOATING = (6, 7, 8, 100, 101)
_DAYS_AND_TIMES = (91, 92)
_TIMESTAMP = 93


class JdbcOutput:
    """One output on its way into a database table."""

    def __init__(self, target: JdbcTarget) -> None:
        self._target = target
        self._replaced = target.periods
        self.rows = 0

    def claim(self) -> None:
        """Become the newest attempt in the ledger, remove what older ones left, and make the stage table."""
        with self._target.explained(), self._target.connect() as database:
            target = self._target = self._target.resolve(database)
            make_ledger(target, database)
            for key in (self._table_key, self._key):
                add_row(target, database, key)
            token, _, _ = lock_row(target, database, self._key)
            if token > target.attempt.token:
                has_ended = read_published_token(target, database, self._key) == token
                raise make_replaced_error(target.attempt.token, token, has_ended=has_ended)
            self._check_period(database)
            self._check_writers(database)
            target.refuse_unsafe(database)
            update_row(target, database, self._key, {"token": target.attempt.token, "nonce": target.attempt.nonce})
            # Listed while the row is locked, these are of older attempts: a newer one makes its table after its claim.
            left = target.find_tables(database, target.stage_prefix)
            database.commit()
            for name in left:
                target.drop_quietly(database, name)
            target.create_missing(database, target.stage_name, target.typed_columns)

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

    def locate_stage(self) -> Location:
        """Return where the stage table is read."""
        return self._locate(self._target.stage_name)

    def locate_published(self) -> Location | None:
        """Return where the rows are read that readers see; None when there is no table yet."""
        with self._target.explained(), self._target.connect() as database:
            exists = self._target.has_table(database, self._target.name)
            database.rollback()
        return self._locate(self._target.name) if exists else None

    def _locate(self, table: str) -> Location:
        target = self._target
        schema = {} if target.schema is None else {"schema": target.schema}
        options = merge_options(drop_options(target.output.destination.options, "schema"), schema)
        credential_ref = target.output.destination.credential_ref
        return Location(kind="jdbc", table=table, options=options, credential_ref=credential_ref, on_missing="empty")

    def check(self) -> None:
        """Raise RUN_002 when a newer attempt has claimed the table."""
        with self._target.explained(), self._target.connect() as database:
            self._lock(database)
            database.rollback()

    @property
    def stage_name(self) -> str:
        """Name of the stage table."""
        return self._target.stage_name

    def take_up(self, rows: int) -> None:
        """Go on with the stage table of this attempt; RUN_002 when a newer one has claimed the table."""
        with self._target.explained(), self._target.connect() as database:
            self._target = self._target.resolve(database)
        self.rows = rows
        if not self.is_published():
            self.check()

    def is_published(self) -> bool:
        """Return whether the ledger says that this attempt has published."""
        with self._target.explained():
            return self._was_committed()

    def rehearse(self) -> None:
        """Replace the period's rows in a transaction that is dropped: what the database refuses is known before."""
        target = self._target
        with target.explained(), target.connect() as database:
            digest = self._lock(database)
            self._check_stage(database)
            # A table that is missing will be made to take these rows.
            if target.has_table(database, target.name):
                self._fill(database, digest)
            database.rollback()

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
            self._target.drop_quietly(database, self._target.stage_name)

    @property
    def _key(self) -> LedgerKey:
        attempt = self._target.attempt
        return (self._target.name, attempt.project_id, attempt.period)

    @property
    def _table_key(self) -> LedgerKey:
        return (self._target.name, EVERY, EVERY)

    def _lock(self, database: Database) -> str | None:
        """Return the digest that was published last, which nobody else can change until the commit."""
        target = self._target
        # One writer at a time for a table: two projects that replace the same period must not both insert.
        lock_row(target, database, self._table_key)
        token, nonce, digest = lock_row(target, database, self._key)
        if (token, nonce) != (target.attempt.token, target.attempt.nonce):
            raise make_replaced_error(target.attempt.token, token)
        self._check_period(database)
        self._check_writers(database)
        self._replaced = tuple(sorted(read_brought(target, database).union(target.periods)))
        return digest

    def _check_period(self, database: Database) -> None:
        """Raise PERIOD_002 when a lock has left its mark here, whichever registry it was."""
        found = find_lock(self._target, database)
        if found is not None:
            raise make_locked_error(self._target.attempt, *found)

    def _check_writers(self, database: Database) -> None:
        """Raise OUTPUT_002 when another project has written what would be replaced."""
        target = self._target
        if target.output.destination.shared:
            return
        overwrites = target.output.write_mode == "overwrite"
        others = list_other_writers(target, database, None if overwrites else target.attempt.period)
        if others:
            what = "this table" if overwrites else f"period {target.attempt.period} of this table"
            message = f"{what} was written by project '{others[0]}'"
            hint = "write to another table, or say `shared: true` on the destination of both"
            raise JobError("OUTPUT_002", message, hint=hint, mark=target.output.mark)

    def _replace(self, database: Database) -> None:
        target = self._target
        digest = self._lock(database)
        self._check_stage(database)
        if not target.has_table(database, target.name):
            # MySQL and Oracle commit when a table is made, which would let go of the locks in the middle.
            database.commit()
            target.create_missing(database, target.name, target.typed_columns)
            digest = self._lock(database)
        self._fill(database, digest)
        update_row(
            target,
            database,
            self._key,
            {"digest": target.attempt.digest, "published_token": target.attempt.token, "row_count": self.rows},
        )
        write_brought(target, database)
        database.execute(f"DROP TABLE {target.stage}")

    def _fill(self, database: Database, digest: str | None) -> None:
        """Let the table hold the rows of the stage; it may do so already, when this snapshot was published last."""
        self._check_target(database)
        if digest != self._target.attempt.digest or not self._holds_stage(database):
            self._move_rows(database)

    def _move_rows(self, database: Database) -> None:
        target = self._target
        condition, values = self._restrict(self._replaced)
        database.execute(f"DELETE FROM {target.table}{condition}", *values)
        columns = target.columns
        moved = database.execute(f"INSERT INTO {target.table} ({columns}) SELECT {columns} FROM {target.stage}")
        if moved != self.rows:
            raise target.make_error(f"{moved} rows arrived of {self.rows}")
        if not self._holds_stage(database):
            raise self._make_change_error(database)

    def _check_stage(self, database: Database) -> None:
        target = self._target
        (found,) = database.query(f"SELECT COUNT(*) FROM {target.stage}")[0]
        if int(found) != self.rows:
            raise target.make_error(f"{found} rows were staged of {self.rows}")
        if target.output.write_mode == "overwrite":
            return
        foreign = self.rows - self._count_rows(database, target.stage, target.periods)
        if foreign:
            reason = f"{foreign} rows belong to another period than {', '.join(target.periods)}"
            raise target.make_misfit_error(reason, "see how _period is assigned, or use write_mode overwrite")

    def _check_target(self, database: Database) -> None:
        """Refuse a table that lacks columns or would change values."""
        target = self._target
        target.refuse_unsafe(database)
        found, staged = database.describe(target.table), database.describe(target.stage)
        missing = [column.name for column in target.output.columns if column.name not in found]
        if missing:
            raise target.make_misfit_error(f"the table has no column {', '.join(missing[:8])}")
        changed = [
            column.name
            for column in target.output.columns
            if _changes_values(column.type.lower(), found[column.name], staged[column.name])
        ]
        if changed:
            names = ", ".join(changed[:8])
            raise target.make_misfit_error(f"the types of the table would change the values of {names}")

    def _holds_stage(self, database: Database) -> bool:
        """Return whether the table holds these very rows."""
        target = self._target
        if self._count_rows(database, target.table, self._replaced) != self.rows:
            return False
        return not self._differs(database, target.output.columns)

    def _count_rows(self, database: Database, table: str, periods: tuple[str, ...]) -> int:
        condition, values = self._restrict(periods)
        ((found,),) = database.query(f"SELECT COUNT(*) FROM {table}{condition}", *values)
        return int(found)

    def _differs(self, database: Database, columns: Sequence[Column]) -> bool:
        """Return whether stage and table differ in rows, or in how often they have one, as far as these columns go."""
        target = self._target
        condition, values = self._restrict(self._replaced)
        compared = self._list_compared(database, columns)
        if not compared:
            return False
        names = ", ".join(compared)
        cast = ", ".join(f"{sql} AS {name}" for name, sql in compared.items())
        difference = (
            f"SELECT COUNT(*) FROM (SELECT {names} FROM (SELECT {cast}, 1 AS rt_times FROM {target.stage} "
            f"UNION ALL SELECT {cast}, -1 AS rt_times FROM {target.table}{condition}) rt_both "
            f"GROUP BY {names} HAVING SUM(rt_times) <> 0) rt_different"
        )
        ((different,),) = database.query(difference, *values)
        return int(different) > 0

    def _list_compared(self, database: Database, columns: Sequence[Column]) -> dict[str, str]:
        """Return the SQL of what is compared by the columns' quoted names; large texts cannot be everywhere."""
        dialect = self._target.dialect
        found = database.describe(self._target.table)
        compared = {}
        for column in columns:
            name = dialect.quote(column.name)
            # A column of texts may keep what is not a text: the database writes it in one way only.
            is_text = column.type == "string" or found[column.name][0] in _TEXTS
            if not is_text:
                compared[name] = name
            elif dialect.exact_text is not None:
                compared[name] = dialect.exact_text.format(name)
        return compared

    def _make_change_error(self, database: Database) -> JobError:
        """Return the error of rows that were changed, hidden or added to on their way into the table."""
        target = self._target
        shown = self._count_rows(database, target.table, self._replaced)
        if shown != self.rows:
            reason = f"the table shows {shown} rows where {self.rows} were written"
        else:
            changed = [column.name for column in target.output.columns if self._differs(database, [column])]
            reason = f"the table holds other values than were written to {', '.join(changed[:8]) or 'it'}"
        hint = "see its triggers, rules, row policies and types, and a view's condition; it must keep rows as they are"
        return target.make_misfit_error(reason, hint)

    def _restrict(self, periods: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The rows of periods: one condition for deleting, checking and comparing."""
        if self._target.output.write_mode == "overwrite":
            return "", ()
        marks = ", ".join("?" for _ in periods)
        return f" WHERE {self._target.dialect.quote(PERIOD_COLUMN)} IN ({marks})", periods

    def _was_committed(self) -> bool:
        """Ask the ledger what became of a transaction whose answer did not arrive."""
        target = self._target
        sql = f"SELECT digest, published_token, nonce FROM {target.ledger} WHERE {KEY_CONDITION}"
        try:
            with target.connect() as database:
                found = database.query(sql, *self._key)
        except DatabaseError:
            return False
        mine = (target.attempt.digest, target.attempt.token, target.attempt.nonce)
        return {(digest, None if token is None else int(token), nonce) for digest, token, nonce in found} == {mine}

    def _make_writer_options(self) -> dict[str, str]:
        target = self._target
        credentials = target.read_credentials()
        options = merge_options(
            {"numPartitions": "4", "batchsize": "5000", "isolationLevel": "READ_COMMITTED"},
            target.dialect.writer_options,
            target.output.destination.options,
            credentials.options,
            target.dialect.connection_options,
            {"dbtable": target.stage},
        )
        driver = find_driver(target.url, options)
        named = {"driver": driver, "user": credentials.user, "password": credentials.password}
        return merge_options(options, {name: value for name, value in named.items() if value is not None})


def _changes_values(type_: str, found: tuple[int, int, int], staged: tuple[int, int, int]) -> bool:
    """Return whether a column rounds numbers, or keeps less of a timestamp than the stage's column does."""
    kind, precision, scale = found
    wanted_kind, _, wanted_scale = staged
    if type_ == "timestamp":
        return kind in _DAYS_AND_TIMES or (kind in (_TIMESTAMP, wanted_kind) and scale < wanted_scale)
    if type_ != "bigint" and not type_.startswith("decimal"):
        return False
    is_whole = kind in _INTEGERS or (kind in _DECIMALS and precision > 0 and scale == 0)
    return kind in _FLOATING or 0 < scale < wanted_scale or (wanted_scale > 0 and is_whole)
