"""An output that is a table of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spark_jobs.contract.report import OutputReport, StagedReport
from spark_jobs.contract.tables import Temporal
from spark_jobs.credentials import read_credentials
from spark_jobs.sinks.jdbc import JdbcOutput
from spark_jobs.sinks.jdbc_target import JdbcTarget
from spark_jobs.sinks.outputs import Output, OutputRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.sinks.protocol import StagedPart


class JdbcTableOutput(Output):
    """An output that is a table of a database."""

    def __init__(self, request: OutputRequest) -> None:
        super().__init__(request)
        ref = self.operation.destination.credential_ref
        periods = self.snapshot.replaced_periods
        target = JdbcTarget(self.spark, self.operation, self.attempt, periods, lambda: read_credentials(ref))
        self._table = JdbcOutput(target)
        self.staged = self.stage_slice()

    def claim(self) -> None:
        """Become the newest attempt in the ledger."""
        self._table.claim()

    def check(self) -> None:
        """Raise RUN_002 when the ledger knows a newer attempt; the transaction that publishes looks again."""
        self._table.check()

    def take_up(self, kept: OutputReport) -> None:
        """Go on with the stage table of this attempt."""
        self.rows, self.resumes = kept.rows, True
        self._table.take_up(kept.rows)

    def is_published(self) -> bool:
        """Return whether the ledger says so."""
        return self._table.is_published()

    def describe_staged(self) -> StagedReport:
        """Return the stage table."""
        return StagedReport(self.attempt.nonce, table=self._table.stage_name)

    def rehearse(self) -> None:
        """Let the database refuse the rows while nothing is seen of the run yet."""
        self._table.rehearse()

    def write(self, frame: DataFrame) -> int:
        """Write rows into the stage table."""
        return self._table.add(frame)

    def seal(self) -> None:
        """Move a registered output's rows from their Parquet files into the stage table."""
        if self.staged is not None:
            with self.explained():
                self.staged.seal()
                self._table.add(self.read_staged(self.staged))

    def read_rows(self, part: StagedPart | None = None) -> DataFrame:
        """Return the rows of the stage table: what the database holds, which nothing else writes to."""
        assert part is None
        return self.load(Temporal("snapshot"), self._table.locate_stage())

    def read_published(self) -> DataFrame | None:
        """Return the rows of the period, or of the whole table; None when there is no table yet."""
        location = self._table.locate_published()
        if location is None:
            return None
        overwrites = self.operation.write_mode == "overwrite"
        return self.load(Temporal("snapshot" if overwrites else "period"), location)

    def count_nulls(self, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Only the database knows."""
        del columns
        return None

    def publish(self) -> None:
        """Replace the period in one transaction."""
        self._table.publish()

    def abandon(self) -> None:
        """Remove the stage table."""
        super().abandon()
        self._table.abandon()
