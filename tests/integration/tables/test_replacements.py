"""Readers of a table never see a mixture, whatever writers do and however they die."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.tables.kit import TableKit
from tests.integration.tables.writer import ROWS

HERE = Path(__file__).parent
Slice = tuple[str, str]


def read_with_library(kit: TableKit) -> list[tuple[str, str, str]]:
    return [(row["_period"], row["account"].split("-")[0], str(row["amount"])) for row in kit.read()]


def read_with_duckdb(kit: TableKit) -> list[tuple[str, str, str]]:
    import duckdb

    with duckdb.connect() as connection:
        if kit.format == "delta":
            from deltalake import DeltaTable

            connection.register("ledger", DeltaTable(str(kit.root / kit.name)).to_pyarrow_dataset())
        else:
            from pyiceberg.catalog import load_catalog

            with load_catalog("lake", **kit.address.properties) as catalog:
                connection.register("ledger", catalog.load_table(kit.address.name).scan().to_arrow())
        sql = "SELECT _period, split_part(account, '-', 1), CAST(amount AS VARCHAR) FROM ledger"
        return connection.execute(sql).fetchall()


def read_pinned_files(kit: TableKit) -> list[tuple[str, str, str]]:
    import pyarrow.parquet as pq

    pinned = kit.open().find_pin()
    assert pinned is not None
    rows = [row for file in pinned.files for row in pq.ParquetFile(file.uri.removeprefix("file://")).read().to_pylist()]
    return [(row["_period"], row["account"].split("-")[0], str(row["amount"])) for row in rows]


READERS: tuple[Callable[[TableKit], list[tuple[str, str, str]]], ...] = (
    read_with_library,
    read_with_duckdb,
    read_pinned_files,
)


def find_mixture(rows: list[tuple[str, str, str]]) -> str | None:
    """Return what is wrong with what a reader has seen: every period must be exactly one replacement."""
    amounts: dict[str, Counter[tuple[str, str]]] = {}
    for period, project, amount in rows:
        amounts.setdefault(period, Counter())[project, amount] += 1
    for period, seen in amounts.items():
        if len(seen) != 1 or next(iter(seen.values())) != ROWS:
            return f"{period}: {dict(seen)}"
    return None


class Watch:
    """Readers that poll a table, a third of the time, and keep what they find wrong."""

    def __init__(self, kit: TableKit) -> None:
        self.kit = kit
        self.reads = 0
        self.mixtures: list[str] = []
        self.failures: list[BaseException] = []
        self._over = threading.Event()

    @contextmanager
    def polling(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._poll, args=(reader,)) for reader in READERS]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _poll(self, reader: Callable[[TableKit], Any]) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            try:
                found = find_mixture(reader(self.kit))
            except BaseException as error:
                self.failures.append(error)
                return
            self.reads += 1
            if found is not None:
                self.mixtures.append(found)
            self._over.wait(2 * (time.monotonic() - begun))


class Writers:
    """Processes that replace rows, are killed and begun again, until enough commits are there."""

    def __init__(self, kit: TableKit, jobs: list[tuple[str, ...]], seed: int) -> None:
        self.kit = kit
        self.jobs = jobs
        self.random = random.Random(seed)
        self.answers: Counter[str] = Counter()
        self.kills = 0
        self.ends: list[int] = []
        """How processes have ended: by themselves, or killed."""
        self.processes: list[subprocess.Popen[str]] = []

    def run(self, commits: int) -> None:
        with ExitStack() as stack:
            self.processes = [stack.enter_context(self._start(job)) for job in self.jobs]
            self._replace(commits)
            for process in self.processes:
                assert process.stdin is not None
                process.stdin.close()

    def _replace(self, commits: int) -> None:
        while self.answers["committed"] < commits:
            # Two of three die somewhere after their first replacement.
            lives = [
                (self.random.choice([None, *self.random.sample(range(1, 20), 2)]), self.random.random())
                for _ in self.jobs
            ]
            threads = [
                threading.Thread(target=self._live, args=(process, *life))
                for process, life in zip(self.processes, lives, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _live(self, process: subprocess.Popen[str], lines: int | None, share: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("live\n")
        process.stdin.flush()
        begun, number, life = time.monotonic(), 0, 0
        for line in process.stdout:
            word, said = line.split()[:2]
            if word == "life":
                life = int(said)
                continue
            if word == "over":
                self.ends.append(int(said))
                return
            self.answers[word] += 1
            number += 1
            if number == lines:
                time.sleep(share * (time.monotonic() - begun) / 2)
                os.kill(life, signal.SIGKILL)
                self.kills += 1
            begun = time.monotonic()
        self.ends.append(-1)

    def _start(self, job: tuple[str, ...]) -> subprocess.Popen[str]:
        command = [sys.executable, str(HERE / "writer.py"), self.kit.format, str(self.kit.root), *job]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE.parents[2]
        )


def _replace_under_watch(kit: TableKit, jobs: list[tuple[str, ...]], commits: int, seed: int) -> None:
    rows = [{"account": "start-1", "amount": 0, "_period": "2026-01"}] * ROWS
    kit.publish(rows, project="start")
    watch, writers = Watch(kit), Writers(kit, jobs, seed)
    with watch.polling():
        writers.run(commits)
    assert watch.failures == []
    assert watch.mixtures == []
    assert writers.ends.count(-signal.SIGKILL) == writers.kills
    assert set(writers.ends) <= {0, -signal.SIGKILL}
    assert watch.reads > 2
    kit.publish(rows, project="left", token=2**62, periods=() if len(jobs) == 2 else None)
    assert list_abandoned(kit, "left", "2026-01") == []
    print(f"{kit.format}: {dict(writers.answers)}, {writers.kills} kills, {watch.reads} reads")


LIFE = "24"
"""Replacements of a writer that is not killed."""
BY_PERIOD = [("left", "2026-01", LIFE), ("right", "2026-01", LIFE), ("other", "2026-02", LIFE)]
WHOLE = [("left", "2026-01", LIFE, "overwrite"), ("right", "2026-01", LIFE, "overwrite")]


def list_abandoned(kit: TableKit, project: str, period: str) -> list[Path]:
    """Return the folders of a run's attempts that were never committed."""
    run = kit.folder_of(kit.stage([], project=project, period=period, token=2**62 + 1)).parent
    marks = [path.parent for path in run.glob("*/_uncommitted")]
    return [folder for folder in marks if f"{2**62 + 1}" not in folder.name]


@pytest.mark.parametrize("jobs", [BY_PERIOD, WHOLE], ids=["period", "overwrite"])
@pytest.mark.timeout(300)
def test_readers_never_see_a_mixture(kit: TableKit, jobs: list[tuple[str, ...]]) -> None:
    _replace_under_watch(kit, jobs, commits=15, seed=1)


@pytest.mark.chaos
@pytest.mark.parametrize("jobs", [BY_PERIOD, WHOLE], ids=["period", "overwrite"])
@pytest.mark.timeout(3600)
def test_readers_never_see_a_mixture_in_a_thousand_replacements(kit: TableKit, jobs: list[tuple[str, ...]]) -> None:
    """A thousand in all, 50 to a table since each commit makes the next one slower.

    RUNTIME_REPLACEMENTS chooses another number than 250 for each.
    """
    for number in range(int(os.environ.get("RUNTIME_REPLACEMENTS", "250")) // 50):
        folder = kit.root / str(number)
        folder.mkdir()
        _replace_under_watch(TableKit(kit.format, folder), jobs, commits=50, seed=2 + number)
