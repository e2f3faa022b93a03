"""A run that is killed at any time and retried has exactly one effect, and nobody ever sees half of it.

Two states of January's ledger take turns. Each round kills runs of the one until one of them succeeds, while readers
watch; then all that can be seen must be what an undisturbed run of that state has made elsewhere. Runs take place in
one Java process, and in the long form also on a real cluster of two workers, where executors are killed.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import create_engine, select

from airflow_provider_runtime.core.registry.tables import leases
from tests.integration.connect_server import QUICK_JAVA
from tests.integration.crashes.books import FEBRUARY, JANUARY, REGISTERED, Books, sum_january
from tests.integration.crashes.kills import Kill, choose_kill, end_group, watch
from tests.integration.crashes.readers import watch_books
from tests.integration.postgres import JDBC_DRIVER, PostgresServer
from tests.integration.spark_cluster import SparkCluster

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.skipif(not JDBC_DRIVER.is_file(), reason=f"no PostgreSQL JDBC driver at {JDBC_DRIVER}"),
]

CONF = {
    "spark.jars": str(JDBC_DRIVER),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
}
MOST_KILLS_A_ROUND = 4
SHARE_OF_CLUSTER = 0.1
Rows = dict[str, list[dict[str, Any]]]


def make_books(folder: Path, server: PostgresServer, registry: str, spark: SparkSession) -> Books:
    """Return books that hold February and the second state of January."""
    database = server.make_database()
    url = f"sqlite:///{folder}/registry.db" if registry == "sqlite" else server.make_database()
    books = Books(folder, database, url)
    books.run(FEBRUARY, 1, spark)
    books.run(JANUARY, 2, spark)
    return books


def kill_and_retry(
    books: Books, cluster: SparkCluster | None, expected: dict[int, Rows], kills: int, seed: int
) -> None:
    chance = random.Random(seed)
    totals = {sum_january(expected[factor]["lake"]) for factor in (1, 2)}
    assert len(totals) == 2
    done, rounds, victims = 0, 0, Counter[str]()
    deadline = time.monotonic() + float(os.environ.get("RUNTIME_SECONDS", "inf"))
    with watch_books(books) as watches:
        while done < kills and time.monotonic() < deadline:
            rounds += 1
            factor = 1 + (rounds + 1) % 2
            told = []
            books.write_ledger(JANUARY, factor)
            for attempt in range(MOST_KILLS_A_ROUND + 1):
                kill = choose_kill(chance, cluster) if attempt < MOST_KILLS_A_ROUND and done < kills else None
                process = books.start(books.command(JANUARY, factor, *choose_spark(chance, kill, cluster)))
                try:
                    status, said, hit = watch(process, kill, cluster)
                finally:
                    end_group(process)
                done += hit
                victims[kill.victim if kill and hit else "nobody"] += 1
                told.append(f"seed {seed} round {rounds}: {kill} hit={hit} status={status}\n{said}")
                assert "Traceback" not in said, told
                assert hit or status == 0, told
                if status == 0:
                    break
                assert status in {1, -9}, told
            check_books(books, expected[factor], rounds, told)
            print(f"round {rounds}: {done} kills", flush=True)
    print(
        f"{done} kills in {rounds} rounds: {dict(victims)}; looks: "
        f"{ {name: (sum(found.seen.values()), found.moved) for name, found in watches.items()} }"
    )
    for name, found in watches.items():
        assert not found.wrong, (name, found.wrong[:3])
        assert set(found.seen) <= totals, (name, found.seen)
        assert len(found.seen) == 2, (name, found.seen)


def choose_spark(chance: random.Random, kill: Kill | None, cluster: SparkCluster | None) -> tuple[str, dict[str, str]]:
    """Draw the master and the settings of a run."""
    conf = {**CONF, "spark.sql.shuffle.partitions": str(chance.choice((1, 3)))}
    if cluster is not None and ((kill is not None and kill.victim == "executor") or chance.random() < SHARE_OF_CLUSTER):
        return cluster.url, {**conf, **cluster.conf}
    return "local[2]", conf


def check_books(books: Books, expected: Rows, rounds: int, told: list[str]) -> None:
    found = books.read_all()
    for place, rows in expected.items():
        assert found[place] == rows, (place, told)
    lake = books.folder / "lake"
    visible = sorted({path.parent.relative_to(lake).as_posix() for path in lake.rglob("*.parquet")})
    assert visible == [f"ledger_usd/period={JANUARY}", f"ledger_usd/period={FEBRUARY}"], told
    assert [path.name for path in lake.rglob("*.crc")] == []
    with books.connect() as connection:
        staged = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'rt_stage%'").fetchall()
    assert staged == [], told
    check_registry(books, rounds, told)


def check_registry(books: Books, rounds: int, told: list[str]) -> None:
    versions = books.registry.list_versions(REGISTERED)
    # February, January's second state, then one for every round: the two snapshots take turns. A run that was killed
    # when all was done is run again, and may register equal rows again that a cluster has ordered in another way.
    made = [digest for digest, _ in groupby(version.snapshot_sha256 for version in versions)]
    assert len(made) == rounds + 2, told
    assert [version.version for version in versions] == list(range(1, len(versions) + 1)), told
    for repeated, version in pairwise(versions):
        if repeated.snapshot_sha256 == version.snapshot_sha256:
            assert books.read_registered(repeated.version) == books.read_registered(version.version), told
    run = books.registry.find_run(versions[-1].snapshot_sha256)
    assert run is not None
    assert run.status == "succeeded", told
    latest = books.registry.find_version(REGISTERED)
    assert latest is not None
    assert [item.period for item in latest.slices] == [JANUARY, FEBRUARY], told
    assert is_free(books), told


def is_free(books: Books) -> bool:
    """Return whether no lease is held."""
    engine = create_engine(books.registry_url)
    with engine.connect() as connection:
        states = set(connection.execute(select(leases.c.state)).scalars())
    engine.dispose()
    return states == {"free"}


def test_random_kill_leaves_nothing_behind(
    tmp_path: Path, postgres_server: PostgresServer, spark: SparkSession, undisturbed: dict[int, Rows]
) -> None:
    books = make_books(tmp_path, postgres_server, "sqlite", spark)
    kill_and_retry(books, None, undisturbed, 1, seed=random.SystemRandom().randrange(10**6))
    books.registry.close()


@pytest.mark.chaos
@pytest.mark.parametrize("registry", ["sqlite", "postgresql"])
def test_two_hundred_random_kills_leave_nothing_behind(
    tmp_path: Path,
    postgres_server: PostgresServer,
    spark: SparkSession,
    spark_cluster: SparkCluster,
    undisturbed: dict[int, Rows],
    registry: str,
) -> None:
    """RUNTIME_KILLS and RUNTIME_SECONDS choose another length, RUNTIME_SEED another course."""
    books = make_books(tmp_path, postgres_server, registry, spark)
    kills = int(os.environ.get("RUNTIME_KILLS", "100"))
    seed = int(os.environ.get("RUNTIME_SEED") or random.SystemRandom().randrange(10**6))
    kill_and_retry(books, spark_cluster, undisturbed, kills, seed)
    books.registry.close()
