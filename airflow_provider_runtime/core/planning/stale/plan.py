"""The plan: for every project and period its state, why, and in which order to run what is missing or stale."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import Any, Literal

from airflow_provider_runtime.core.model.period import PeriodStatus

State = Literal["fresh", "stale", "missing", "failed", "staged", "running"]
ReasonKind = Literal["definition", "version", "source", "resolver", "calendar", "upstream"]
TO_RUN: tuple[State, ...] = ("missing", "stale")


@dataclass(frozen=True, slots=True, order=True)
class Work:
    """A project's period."""

    project: str
    period: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why what is published is not what a run would publish now, and which columns of its outputs that concerns."""

    kind: ReasonKind
    detail: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of a project's period."""

    work: Work
    state: State
    status: PeriodStatus
    reasons: tuple[Reason, ...] = ()
    depends_on: tuple[Work, ...] = ()
    unknown: tuple[str, ...] = ()
    """Datasets whose data cannot be looked at from here: whether they are those that the run read is not known."""
    has_begun: bool = True
    """Whether the period's first day has come."""
    basis: str = ""
    """Digest of all that the state was found from."""

    @property
    def held_back(self) -> str | None:
        """Why it is not run though it is missing or stale; None when it is."""
        if self.state not in TO_RUN:
            return None
        if self.status != "open":
            return self.status
        return None if self.has_begun else "not begun"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a plan was made for."""

    project: str | None = None
    period: str | None = None
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    """Decides which periods are due."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Entries in the order in which to run them."""

    entries: tuple[Entry, ...]
    scope: Scope = field(default_factory=Scope)

    @property
    def plan_id(self) -> str:
        """Digest of what the plan was found from: the same again as long as nothing has moved."""
        found = [[entry.work.project, entry.work.period, entry.basis] for entry in self.entries]
        return "sha256:" + hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def list_to_run(self) -> tuple[Entry, ...]:
        """Return what is missing or stale, in run order, without what is closed, locked or has not begun."""
        return tuple(entry for entry in self.entries if entry.state in TO_RUN and entry.held_back is None)

    def to_document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "plan_id": self.plan_id,
            "scope": {
                "project": self.scope.project,
                "period": self.scope.period,
                "today": self.scope.today.isoformat(),
            },
            "entries": [_describe(entry) for entry in self.entries],
        }


def _describe(entry: Entry) -> dict[str, Any]:
    return {
        "project": entry.work.project,
        "period": entry.work.period,
        "state": entry.state,
        "status": entry.status,
        "reasons": [
            {"kind": reason.kind, "detail": reason.detail, "columns": list(reason.columns)} for reason in entry.reasons
        ],
        "depends_on": [{"project": work.project, "period": work.period} for work in entry.depends_on],
        "unknown": list(entry.unknown),
        "held_back": entry.held_back,
    }


def order_entries(entries: Iterable[Entry], starts: Mapping[Work, date], projects: Sequence[str]) -> tuple[Entry, ...]:
    """Return entries so that what others depend on comes first, else by the start of their period and by project.

    Where projects read what each other registers, the order of `projects` decides who comes first.
    """
    by_work = {entry.work: entry for entry in entries}
    ranks = {name: rank for rank, name in enumerate(projects)}
    before = {
        work: {found for found in entry.depends_on if found in by_work and ranks[found.project] < ranks[work.project]}
        for work, entry in by_work.items()
    }
    sorter = TopologicalSorter(before)
    sorter.prepare()
    ready: list[tuple[date, Work]] = []
    ordered: list[Entry] = []
    while sorter.is_active():
        for work in sorter.get_ready():
            heappush(ready, (starts[work], work))
        _, first = heappop(ready)
        ordered.append(by_work[first])
        sorter.done(first)
    return tuple(ordered)
