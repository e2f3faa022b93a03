"""The publication of a run: every output staged where it stands, all published together at the end.

`begin` fences off older attempts at every destination before anything is computed. `publish` asks databases whether
they take the rows, checks all fences, copies the slices of registered datasets, then swaps the outputs in, in seq
order. A crash in between is completed by the retry: what it finds published it leaves alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from spark_jobs.contract.plan import OutputOperation
from spark_jobs.contract.report import OutputReport
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import Attempt
from spark_jobs.sinks.outputs import FileOutput, JdbcTableOutput, Output
from spark_jobs.sinks.protocol import StagedOutput
from spark_jobs.spark.storage import join_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.snapshot import Snapshot


class Publication:
    """The outputs of one attempt, from the first claim to the last swap."""

    def __init__(self, spark: SparkSession, snapshot: Snapshot, attempt: int) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self._attempt = Attempt(attempt, snapshot.project.id, snapshot.period.identifier, snapshot.sha256)
        self._outputs = {
            operation.seq: self._make_output(operation)
            for operation in sorted(snapshot.plan.operations, key=lambda operation: operation.seq)
            if isinstance(operation, OutputOperation)
        }
        self._scratch: list[str] = []
        self._is_sealed = False
        self.begun = False
        """Whether outputs are being swapped in: from then on a failure may leave some of them published."""

    def begin(self) -> None:
        """Claim every destination for this attempt."""
        for output in self._outputs.values():
            output.claim()

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        """Write rows of an output aside."""
        return self._outputs[output.seq].stage(frame)

    def can_read_back(self, output: OutputOperation) -> bool:
        """Tell whether an output is staged as Parquet."""
        return self._outputs[output.seq].stages_parquet

    def scratch(self, name: str) -> str | None:
        """Return a folder beside the first staged files, which goes with them."""
        for output in self._outputs.values():
            if output.area is not None:
                uri = join_uri(output.area.folder, f"scratch-{len(self._scratch)}-{name}")
                self._scratch.append(uri)
                return uri
        return None

    def seal(self) -> None:
        """Finish what was staged; nothing is done when it is finished."""
        if not self._is_sealed:
            for output in self._outputs.values():
                output.seal()
            self._is_sealed = True

    def read_staged(self, seq: int) -> DataFrame:
        """Return an output's rows as they are staged."""
        return self._outputs[seq].read_rows()

    def count_staged(self, seq: int) -> int:
        """Return how many rows of an output are staged."""
        return self._outputs[seq].rows

    def count_nulls(self, seq: int, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many rows each column is NULL, where files say so."""
        return self._outputs[seq].count_nulls(columns)

    def publish(
        self,
        before_swap: Callable[[], None] | None = None,
        verify: Callable[[tuple[OutputReport, ...]], None] | None = None,
    ) -> tuple[OutputReport, ...]:
        """Let all outputs take the place of what was there; to be called when every operation has succeeded.

        `before_swap` is called when all is ready, right before anything is seen, and `verify` with what will be
        published; what they raise stops the publication.
        """
        outputs = list(self._outputs.values())
        self.seal()
        # What the first one is refused for is found when it is published, before anything is seen.
        for output in outputs[1:]:
            output.rehearse()
        if before_swap is not None:
            before_swap()
        for output in outputs:
            output.check()
        for output in outputs:
            output.publish_slice()
        reports = tuple(output.make_report() for output in outputs)
        if verify is not None:
            verify(reports)
        self.begun = True
        for output in outputs:
            output.publish()
        for output in outputs:
            output.clean()
        return reports

    def abandon(self) -> None:
        """Remove what this attempt has staged, as far as that can still be done."""
        for output in self._outputs.values():
            with contextlib.suppress(OSError, JobError, Py4JError):
                output.abandon()

    def _make_output(self, operation: OutputOperation) -> Output:
        checked = {seq for check in self._snapshot.plan.checks for seq in check.outputs}
        build = JdbcTableOutput if operation.destination.kind == "jdbc" else FileOutput
        return build(self._spark, self._snapshot, operation, self._attempt, is_checked=operation.seq in checked)
