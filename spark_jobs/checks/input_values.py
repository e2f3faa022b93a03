"""Totals of the input that come with the pass that reads it, so that no source is read twice for a check."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation, functions

from spark_jobs.checks.values import spell_value
from spark_jobs.contract.sql import WORKING
from spark_jobs.rows.plan_reading import keeps_until_read
from spark_jobs.rows.working import InputTotals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.checks import Check
    from spark_jobs.contract.operations import AnyOperation

ROWS = "@rows"
LONGEST_WAIT_SECONDS = 10
"""Of a total that overflows Spark only writes to its log, and never delivers it."""


class InputValues:
    """What checks ask of the input: totals are observed, and groups need its rows to be kept once they are read.

    An observation copies every row. So where no operation changes the columns of the totals before the rows are
    counted, they come with the observation that counts.
    """

    def __init__(self, checks: Sequence[Check], operations: Sequence[AnyOperation]) -> None:
        sides = [(check, side) for check in checks for side in check.values if side.is_of_input]
        wanted = [spell_value(side.sql, side.type) for check, side in sides if not check.group_by]
        self._wanted = list(dict.fromkeys(wanted))
        self._observation: Observation | None = None
        self._sides = sides
        self.is_grouped = any(check.group_by for check, _ in sides)
        """Whether a check asks for groups, which an observation cannot compute."""
        self.rows: DataFrame | None = None
        """The input's rows, where they are kept."""
        self.totals: InputTotals | None = None
        """What comes with the count of the rows."""
        reads = [side.reads for check, side in sides if not check.group_by]
        columns = frozenset(name for names in reads for name in names or ())
        if wanted and not self.is_grouped and None not in reads and keeps_until_read(operations, columns):
            named = {f"@i{index}": sql for index, sql in enumerate(self._wanted)}
            self.totals = InputTotals(named, columns)

    def list_columns(self, known: Collection[str]) -> set[str]:
        """Return the columns that checks read of the input."""
        found: set[str] = set()
        for check, side in self._sides:
            found.update(known if side.reads is None else side.reads, (key.name for key in check.group_by))
        return found

    def observe(self, frame: DataFrame) -> DataFrame:
        """Return the input's rows, which are added up by whoever reads them."""
        if not self._wanted or self.totals is not None:
            return frame
        self._observation = Observation()
        metrics = [functions.expr(sql).alias(f"@i{index}") for index, sql in enumerate(self._wanted)]
        metrics.append(functions.expr("count(1)").alias(ROWS))
        return frame.alias(WORKING).observe(self._observation, *metrics)

    def read(self, rows: int) -> Mapping[str, Any]:
        """Return the totals by their SQL, once the rows were read; nothing when they are unknown.

        Spark reports what the first action has observed. One that stops early, or needs no rows, has seen fewer rows
        than there are.
        """
        if self.totals is not None:
            return {self.totals.metrics[name]: value for name, value in self.totals.found.items()}
        if self._observation is None:
            return {}
        found: dict[str, Any] = {}
        reading = threading.Thread(target=_read, args=(self._observation, found), daemon=True)
        reading.start()
        reading.join(LONGEST_WAIT_SECONDS)
        metrics = dict(found)
        if metrics.get(ROWS) != rows:
            return {}
        names = [f"@i{index}" for index in range(len(self._wanted))]
        return {sql: metrics[name] for sql, name in zip(self._wanted, names, strict=True) if name in metrics}


def _read(observation: Observation, found: dict[str, Any]) -> None:
    # The check then reads the input itself, and explains what goes wrong.
    try:
        found.update(observation.get)
    except Exception:  # noqa: BLE001
        found.clear()
