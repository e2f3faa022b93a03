"""The publication of a run: every output staged in its turn, all published together at the end.

`begin` fences off older attempts at every destination before anything is computed. `publish` asks databases whether
they take the rows, checks all fences, copies the slices of registered datasets, then swaps the outputs in, in seq
order. A crash in between is completed by the retry: what it finds published it leaves alone.

`keep_staged` ends the first half instead; `publish_staged`, in another process, is the second half of the same attempt:
the same token and names, so that fences hold for it as if it had never stopped.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.report import OutputReport
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import Attempt
from spark_jobs.sinks.file_output import FileOutput
from spark_jobs.sinks.jdbc_output import JdbcTableOutput
from spark_jobs.sinks.outputs import Output, OutputRequest
from spark_jobs.sinks.protocol import StagedOutput, StagedPart
from spark_jobs.sinks.tables import TableOutput
from spark_jobs.spark.storage import join_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.snapshot import Snapshot


_OUTPUTS: dict[str, type[Output]] = {"files": FileOutput, "jdbc": JdbcTableOutput, "table": TableOutput}


def needs_session(snapshot: Snapshot) -> bool:
    """Return whether publishing or discarding what is staged takes Spark: files of this machine are only renamed."""
    return any(
        output.destination.kind == "jdbc"
        or not is_local(output.destination.uri)
        or (output.slice is not None and (output.destination.kind == "table" or not is_local(output.slice.uri_prefix)))
        for output in snapshot.plan.outputs
    )


class Publication:
    """The outputs of one attempt, from the first claim to the last swap."""

    def __init__(
        self,
        spark: SparkSession | None,
        snapshot: Snapshot,
        attempt: int,
        nonce: str | None = None,
        *,
        reads_staged: bool = False,
    ) -> None:
        # Without a session only what was staged can be handled, where `needs_session` says so.
        self._spark: SparkSession = spark  # type: ignore[assignment]
        self._snapshot = snapshot
        self._reads_staged = reads_staged or snapshot.plan.settings.publication.compare
        self._attempt = Attempt(
            attempt,
            snapshot.project.id,
            snapshot.period.identifier,
            snapshot.sha256,
            nonce or secrets.token_hex(4),
            snapshot.project.name,
            snapshot.plan.settings.calendar,
            snapshot.plan.settings.enclosing_periods,
        )
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
        """Claim every destination for this attempt, once none of them refuses the period or the project."""
        for output in self._outputs.values():
            output.check_writable()
        for output in self._outputs.values():
            output.claim()

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        """Write rows of an output aside."""
        return self._outputs[output.seq].stage(frame)

    def can_read_back(self, output: OutputOperation) -> bool:
        """Return whether an output is staged as Parquet."""
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

    def read_staged(self, seq: int, part: StagedPart | None = None) -> DataFrame:
        """Return an output's rows as they are staged, or a part of them."""
        return self._outputs[seq].read_rows(part)

    def split_staged(self, seq: int) -> bool:
        """Make what is staged of an output so far a part of its own, where it is files."""
        return self._outputs[seq].split_staged()

    def read_published(self, seq: int) -> DataFrame | None:
        """Return the rows that an output would replace; None when nothing was published."""
        return self._outputs[seq].read_published()

    def replaces_equal_rows(self, seq: int) -> bool:
        """Tell, without reading rows, that readers see exactly what is staged."""
        return self._outputs[seq].replaces_equal_rows()

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
        return self._swap_in(outputs, before_swap, verify)

    def keep_staged(
        self,
        until_millis: int,
        before_keeping: Callable[[], None] | None = None,
        verify: Callable[[tuple[OutputReport, ...]], None] | None = None,
    ) -> tuple[OutputReport, ...]:
        """Keep what is staged for a decision; destinations are asked now whether they would take it."""
        outputs = list(self._outputs.values())
        self.seal()
        for output in outputs:
            output.rehearse()
        if verify is not None:
            verify(tuple(output.make_report() for output in outputs))
        if before_keeping is not None:
            before_keeping()
        for output in outputs:
            output.check()
            output.keep(until_millis)
        return tuple(output.make_staged_report() for output in outputs)

    def publish_staged(
        self, staged: Sequence[OutputReport], before_swap: Callable[[], None] | None = None
    ) -> tuple[OutputReport, ...]:
        """Publish what an earlier process of this attempt has staged; what one has published already is left alone."""
        self._take_up(staged)
        left = [output for output in self._outputs.values() if not output.is_published()]
        for output in left:
            output.check_staged()
        for output in left[1:]:
            output.rehearse()
        return self._swap_in(left, before_swap)

    def discard_staged(self, staged: Sequence[OutputReport]) -> None:
        """Remove what an earlier process of this attempt has staged."""
        with contextlib.suppress(JobError):
            self._take_up(staged)
        self.abandon()

    def _take_up(self, staged: Sequence[OutputReport]) -> None:
        kept = {report.seq: report for report in staged if report.staged is not None}
        if set(kept) != set(self._outputs):
            raise JobError("SNAPSHOT_001", "the report of what was staged is not one of this snapshot")
        for seq, output in self._outputs.items():
            output.take_up(kept[seq])

    def _swap_in(
        self,
        left: Sequence[Output],
        before_swap: Callable[[], None] | None,
        verify: Callable[[tuple[OutputReport, ...]], None] | None = None,
    ) -> tuple[OutputReport, ...]:
        outputs = list(self._outputs.values())
        if before_swap is not None:
            before_swap()
        for output in outputs:
            output.check()
        for output in outputs:
            output.note_writer()
        for output in outputs:
            output.publish_slice()
        reports = tuple(output.make_report() for output in outputs)
        if verify is not None:
            verify(reports)
        self.begun = True
        for output in left:
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
        build = _OUTPUTS[operation.destination.kind]
        is_read = self._reads_staged or operation.seq in checked
        return build(OutputRequest(self._spark, self._snapshot, operation, self._attempt, is_read))
