"""Random orders of staging, publishing, discarding, dying and locking, against a model of what must come of each.

Three snapshots of one project and period take turns. Whoever began an attempt may stage it, publish it, fail, ask again
because an answer was lost, or never be heard of again. The model knows nothing of records: one lease, what is staged,
and how often the period was published.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Attempt
from tests.unit.core.registry.registry_cases import ELSEWHERE, make_start, make_write

SNAPSHOTS = ("a", "b", "c")
LEASE_MILLIS, KEEP_MILLIS = 90_000, 300_000
STEPS = 60


@dataclass
class Staged:
    token: int
    until: int
    base: int


@dataclass
class Model:
    """What must hold, in the words of the documentation."""

    now: int = 1_000_000
    period: PeriodStatus = "open"
    holder: str | None = None
    """The snapshot whose attempt holds the lease."""
    token: int = 0
    expires: int = 0
    is_revoked: bool = False
    """Whether the period was locked while somebody held the lease."""
    staged: dict[str, Staged] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    succeeded: dict[str, int] = field(default_factory=dict)
    """Tokens of the runs whose last attempt has published."""
    begun: set[str] = field(default_factory=set)
    """Staged runs whose publication was begun: nobody knows how far it came."""
    discarded: set[str] = field(default_factory=set)
    published: list[int] = field(default_factory=list)

    @property
    def is_alive(self) -> bool:
        return self.holder is not None and self.now < self.expires

    def begin(self, name: str) -> str | None:
        if self.period != "open":
            return "PERIOD_002"
        if self.is_alive and self.holder != name:
            return "RUN_001"
        self.holder = name
        self.expires = self.now + LEASE_MILLIS
        self.discarded = (self.discarded | self.staged.keys()) - {name}
        self.staged.clear()
        self.begun.clear()
        self.succeeded.pop(name, None)
        self.bases.pop(name, None)
        return None

    def holds(self, attempt: Attempt, name: str) -> bool:
        return self.holder == name and self.token == attempt.token

    def stage(self, name: str, attempt: Attempt) -> str | None:
        if (
            name in self.staged
            and self.staged[name].token == attempt.token
            and self.holder is None
            and not self.is_revoked
        ):
            return None
        if self.period != "open":
            return "PERIOD_002"
        if not self.holds(attempt, name):
            return "RUN_002"
        self.holder = None
        self.staged[name] = Staged(attempt.token, self.now + KEEP_MILLIS, len(self.published))
        self.bases[name] = len(self.published)
        self.begun.discard(name)
        return None

    def finish(self, name: str, attempt: Attempt) -> str | None:
        if attempt.token in self.published:
            # Its answer was lost: what it has registered is found again, whoever has begun since.
            return None
        if self.period != "open":
            return "PERIOD_002"
        if not self.holds(attempt, name):
            return "RUN_002"
        self.holder = None
        self.staged.pop(name, None)
        self.succeeded[name] = attempt.token
        self.published.append(attempt.token)
        return None

    def begin_publication(self, name: str) -> str | None:
        if name in self.succeeded:
            return None
        if self.period != "open":
            return "PERIOD_002"
        if name in self.bases and self.bases[name] != len(self.published):
            return "PLAN_001"
        if name not in self.staged or self.staged[name].token != self.token:
            return "RUN_002"
        if self.is_alive:
            return "RUN_001"
        if self.staged[name].until < self.now:
            return "PLAN_001"
        self.holder, self.expires = name, self.now + LEASE_MILLIS
        self.begun.add(name)
        return None

    def discard(self, name: str) -> str | None:
        if name not in self.staged:
            return "PLAN_001"
        if self.is_alive and self.staged[name].token == self.token:
            return "RUN_001"
        if self.staged[name].token == self.token:
            if name in self.begun:
                return "PLAN_001"
            self.holder = None
        del self.staged[name]
        self.discarded.add(name)
        return None


@dataclass
class Play:
    """The registry and the model, step by step."""

    chance: random.Random
    model: Model = field(default_factory=Model)
    attempts: dict[str, list[Attempt]] = field(default_factory=lambda: {name: [] for name in SNAPSHOTS})
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registry = MemoryRegistry(lambda: self.model.now)

    def step(self) -> None:
        name = self.chance.choice(SNAPSHOTS)
        known = self.attempts[name]
        attempt = self.chance.choice(known[-2:]) if known else None
        kinds = ["begin", "begin_publication", "discard", "wait", "period"]
        weights = [4, 5, 1, 3, 0.4]
        if attempt is not None:
            kinds += ["stage", "finish", "fail"]
            weights += [8, 5, 1]
        kind = self.chance.choices(kinds, weights)[0]
        self.told.append(f"{kind} {name} {attempt.token if attempt else ''}")
        getattr(self, kind)(name, attempt)
        self.look()

    def expect(self, expected: str | None, call: object) -> object:
        outcome, found = None, None
        try:
            outcome = call()  # type: ignore[operator]
        except RuntimeProviderError as error:
            found = error.code
        assert found == expected, "\n".join([*self.told, f"{expected} was expected, not {found}"])
        return outcome

    def begin(self, name: str, _: Attempt | None) -> None:
        made = self.expect(
            self.model.begin(name),
            lambda: self.registry.begin_attempt(make_start(name), holder=ELSEWHERE, lease_seconds=LEASE_MILLIS / 1000),
        )
        if isinstance(made, Attempt):
            assert made.token > self.model.token
            self.model.token = made.token
            self.attempts[name].append(made)

    def begin_publication(self, name: str, _: Attempt | None) -> None:
        was_published = name in self.model.succeeded
        made = self.expect(
            self.model.begin_publication(name),
            lambda: self.registry.begin_publication(
                make_start(name), holder=ELSEWHERE, lease_seconds=LEASE_MILLIS / 1000
            ),
        )
        if isinstance(made, Attempt):
            assert (made.published is not None) == was_published
            assert was_published or made.token == self.model.token

    def stage(self, name: str, attempt: Attempt) -> None:
        self.expect(
            self.model.stage(name, attempt),
            lambda: self.registry.stage_attempt(attempt, {}, keep_seconds=KEEP_MILLIS / 1000),
        )

    def finish(self, name: str, attempt: Attempt) -> None:
        write = make_write(f"file:/s/{attempt.token}", content=f"{attempt.token}")
        self.expect(self.model.finish(name, attempt), lambda: self.registry.finish_attempt(attempt, [write], {}))

    def fail(self, name: str, attempt: Attempt) -> None:
        was_current = self.model.holds(attempt, name)
        cut_short = self.chance.random() < 0.5
        report = {"status": "failed", "cut_short": cut_short}
        outcome = self.registry.fail_attempt(attempt, {"code": "OUTPUT_003", "message": "bad"}, report)
        assert outcome == was_current, "\n".join(self.told)
        if was_current:
            self.model.holder = None
            if not cut_short:
                self.model.begun.discard(name)

    def discard(self, name: str, _: Attempt | None) -> None:
        self.expect(
            self.model.discard(name), lambda: self.registry.discard_staged(f"run-{name}", who="ben", reason="wrong")
        )

    def wait(self, name: str, _: Attempt | None) -> None:
        self.model.now += self.chance.choice([1_000, LEASE_MILLIS + 1, KEEP_MILLIS // 2])

    def period(self, name: str, _: Attempt | None) -> None:
        wanted: PeriodStatus = self.chance.choice(
            ("open", "closed", "locked") if self.chance.random() < 0.3 else ("open", "closed")
        )
        expected = "PERIOD_002" if self.model.period == "locked" and wanted != "locked" else None
        if expected is None:
            self.model.period = wanted
            if wanted == "locked" and self.model.holder is not None:
                self.model.holder, self.model.is_revoked = None, True
        self.expect(
            expected,
            lambda: self.registry.set_period_status("gregorian", "2026-01", wanted, who="ann", reason="audit"),
        )

    def look(self) -> None:
        """Compare all that can be seen."""
        publications = self.registry.list_publications("p", "2026-01")[::-1]
        assert [found.number for found in publications] == list(range(1, len(publications) + 1)), "\n".join(self.told)
        assert [found.token for found in publications] == self.model.published, "\n".join(self.told)
        assert sorted(self.model.published) == self.model.published, "\n".join(self.told)
        assert len(set(self.model.published)) == len(self.model.published), "\n".join(self.told)
        staged = {run.snapshot_sha256[0] for run in self.registry.list_runs() if run.staged_until is not None}
        assert staged == self.model.staged.keys(), "\n".join(self.told)
        versions = self.registry.list_versions("DS")
        assert [version.version for version in versions] == list(range(1, len(self.model.published) + 1)), "\n".join(
            self.told
        )
        latest = self.registry.find_version("DS")
        if self.model.published:
            assert latest is not None
            assert [found.uri for found in latest.slices] == [f"file:/s/{self.model.published[-1]}"], "\n".join(
                self.told
            )


@pytest.mark.parametrize(("first", "count"), [(0, 120), pytest.param(120, 20_000, marks=pytest.mark.chaos)])
def test_staged_runs_are_published_once_or_not_at_all_in_any_order(first: int, count: int) -> None:
    published = refused = 0
    for seed in range(first, first + count):
        play = Play(random.Random(seed))
        for _ in range(STEPS):
            play.step()
        published += len(play.model.published)
        refused += len(play.model.discarded)
    assert published > count
    assert refused > count // 4
