"""Every order of steps of three writers, with crashes and a lost answer, against the registry's own rules.

A writer begins, writes its slice, then finishes; a crash loses its token and it begins again with the same snapshot;
a lost answer makes it ask again with the same attempt. Writers 0 and 1 execute the same snapshot, writer 2 another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from airflow_provider_runtime.core.errors import LeaseError
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Attempt
from tests.unit.core.registry.registry_cases import make_start, make_write, read

SNAPSHOTS = ("a", "a", "b")


@dataclass(frozen=True)
class Writer:
    attempt: Attempt | None = None
    state: str = "new"
    """new, begun, unsure (the answer of its finish was lost), done, refused"""


@dataclass(frozen=True)
class World:
    registry: MemoryRegistry
    writers: tuple[Writer, ...]
    crashes: int
    losses: int
    refused: frozenset[int]
    """Tokens that were refused once; they must never publish afterwards."""

    def change(self, number: int, writer: Writer, **changes: object) -> World:
        writers = (*self.writers[:number], writer, *self.writers[number + 1 :])
        return replace(self, writers=writers, **changes)  # type: ignore[arg-type]


def list_steps(world: World, number: int) -> Iterator[World]:
    writer = world.writers[number]
    if writer.state == "new":
        yield begin(world, number, lease_seconds=90)
        yield begin(world, number, lease_seconds=0)
    elif writer.state in {"begun", "unsure"} and writer.attempt is not None:
        yield finish(world, number, writer.attempt, lost=False)
        if world.losses:
            yield finish(world, number, writer.attempt, lost=True)
        if world.crashes:
            yield world.change(number, Writer(), crashes=world.crashes - 1)


def begin(world: World, number: int, lease_seconds: float) -> World:
    registry = world.registry.copy()
    start = make_start(SNAPSHOTS[number])
    try:
        attempt = registry.begin_attempt(start, holder="elsewhere/1/1", lease_seconds=lease_seconds)
    except LeaseError as error:
        expect(error.code == "RUN_001")
        return world.change(number, Writer(state="refused"), registry=registry)
    older = [writer.attempt.token for writer in world.writers if writer.attempt]
    assert all(attempt.token > token for token in older)
    return world.change(number, Writer(attempt, "begun"), registry=registry)


def finish(world: World, number: int, attempt: Attempt, *, lost: bool) -> World:
    registry = world.registry.copy()
    before = registry.list_versions("DS")
    write = make_write(f"file:/s/{attempt.token}", content=SNAPSHOTS[number])
    try:
        (registration,) = registry.finish_attempt(attempt, [write], {})
    except LeaseError as error:
        expect(error.code == "RUN_002")
        expect(world.writers[number].state != "unsure" or not was_published(world, attempt))
        return world.change(
            number, Writer(attempt, "refused"), registry=registry, refused=world.refused | {attempt.token}
        )
    assert attempt.token not in world.refused
    after = registry.list_versions("DS")
    assert after[: len(before)] == before
    assert len(after) == len(before) + registration.created
    # One effect for a snapshot that nobody came between: its executions after each other make one version.
    digests = [version.snapshot_sha256 for version in after]
    assert all(first != second for first, second in pairwise(digests))
    if lost:
        return world.change(number, Writer(attempt, "unsure"), registry=registry, losses=world.losses - 1)
    return world.change(number, Writer(attempt, "done"), registry=registry)


def expect(condition: bool) -> None:
    assert condition


def was_published(world: World, attempt: Attempt) -> bool:
    run = world.registry.find_run(attempt.snapshot_sha256)
    return run is not None and run.status == "succeeded" and run.token == attempt.token


def fingerprint(world: World) -> tuple[object, ...]:
    store = world.registry._store
    return (
        tuple((w.attempt.token if w.attempt else 0, w.state) for w in world.writers),
        world.crashes,
        world.losses,
        world.refused,
        tuple(store.leases.values()),
        tuple((r.snapshot_sha256, r.status, r.token) for r in store.runs.values()),
        tuple((r.uri, r.first_version, r.replaced_in) for r in store.slices),
    )


@pytest.mark.parametrize("crashes", [1, pytest.param(2, marks=pytest.mark.chaos)])
def test_publish_protocol_in_every_order_never_doubles_loses_or_lets_an_old_attempt_in(crashes: int) -> None:
    registry = MemoryRegistry(lambda: 1_000)
    start = World(registry, (Writer(),) * len(SNAPSHOTS), crashes=crashes, losses=1, refused=frozenset())
    seen: set[tuple[object, ...]] = set()
    waiting, ends, published = [start], 0, 0
    while waiting:
        world = waiting.pop()
        key = fingerprint(world)
        if key in seen:
            continue
        seen.add(key)
        following = [step for number in range(len(SNAPSHOTS)) for step in list_steps(world, number)]
        waiting.extend(following)
        if following:
            continue
        ends += 1
        # When all is over and one says that it is done, its rows can be read, and exactly one slice of the period.
        if any(writer.state == "done" for writer in world.writers):
            published += 1
            assert len(read(world.registry)) == 1
            for version in world.registry.list_versions("DS"):
                assert len(read(world.registry, version.version)) == 1
    assert len(seen) > 1_000
    assert published > 100
    assert published <= ends
