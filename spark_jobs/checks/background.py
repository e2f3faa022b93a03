"""Reads in the background: what checks need is read while the operations that follow are computed."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.contract.report import STEPS
from spark_jobs.spark.jvm import describe_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
MOST_AT_ONCE = 4


class Background:
    """Threads that query Spark, until they are done or no longer needed."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tag = f"checks-{uuid.uuid4().hex}"
        # A thread's jobs have the description that the thread gave them.
        described = (spark, STEPS["check_seconds"])
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, "checks", initializer=describe_jobs, initargs=described)
        self._begun: list[Future[object]] = []

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start work on a thread of its own."""

        def tagged() -> T:
            self._spark.addTag(self._tag)
            try:
                return work()
            finally:
                self._spark.removeTag(self._tag)

        begun = self._pool.submit(tagged)
        self._begun.append(begun)  # type: ignore[arg-type]
        return begun

    def wait(self) -> None:
        """Wait until everything has ended, whether it succeeded or not."""
        wait(self._begun)

    def stop(self) -> None:
        """Cancel what is still running: a run that fails does not wait for it."""
        if not all(begun.done() for begun in self._begun):
            with contextlib.suppress(Exception):
                self._spark.interruptTag(self._tag)
        self._pool.shutdown(cancel_futures=True)
