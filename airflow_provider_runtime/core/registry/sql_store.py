"""The registry's rows in a database."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    RowMapping,
    ScalarSelect,
    Subquery,
    Table,
    and_,
    or_,
    select,
    text,
    tuple_,
    union,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from airflow_provider_runtime.core.registry import tables
from airflow_provider_runtime.core.registry.ports import (
    Approval,
    Override,
    PeriodChange,
    PeriodRecord,
    Publication,
    Registration,
    Release,
    RunRecord,
)
from airflow_provider_runtime.core.registry.store import DatasetRow, LeaseRow, SliceRow, VersionRow, to_datetime

CLOCKS = {
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "postgresql": "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
}
RUN_TIMES = ("started_at", "finished_at", "published_at", "staged_until")
RUN_REPORTS = ("report", "error")
RUN_DOCUMENTS = (*RUN_REPORTS, "basis", "sources", "check_counts")
MOST_PARAMETERS = 500


class SqlStore:
    """Rows through one connection, within its transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def now_millis(self) -> int:
        return int(self._connection.execute(text(CLOCKS[self._connection.dialect.name])).scalar_one())

    def find_digests(self, keys: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], str]:
        columns = tables.definitions.c
        name, found = tuple_(columns.kind, columns.id, columns.version), {}
        for first in range(0, len(keys), MOST_PARAMETERS // 3):
            some = name.in_(keys[first : first + MOST_PARAMETERS // 3])
            for row in self._connection.execute(select(tables.definitions).where(some)):
                found[row.kind, row.id, row.version] = row.digest
        return found

    def add_digest(self, kind: str, id: str, version: int, digest: str, run_id: str) -> None:
        self._put(tables.definitions, kind=kind, id=id, version=version, digest=digest, first_run_id=run_id)

    def find_run(self, key: str) -> RunRecord | None:
        row = self._find(tables.runs, snapshot_sha256=key) or self._find(tables.runs, run_id=key)
        return None if row is None else _make_run(row)

    def put_run(self, run: RunRecord) -> None:
        values = {column.name: getattr(run, column.name) for column in tables.runs.columns}
        values |= {name: _to_millis(values[name]) for name in RUN_TIMES}
        values |= {name: _dump(values[name]) for name in RUN_DOCUMENTS}
        self._put(tables.runs, **values)

    def list_runs(self, project: str | None, period: str | None, limit: int | None) -> list[RunRecord]:
        columns = tables.runs.c
        query = select(tables.runs).order_by(columns.started_at.desc(), columns.token.desc()).limit(limit)
        if project is not None:
            query = query.where(or_(columns.project_id == project, columns.project_name == project))
        if period is not None:
            query = query.where(columns.period == period)
        return [_make_run(row) for row in self._connection.execute(query).mappings()]

    def list_last_runs(self, known: Mapping[str, RunRecord], reports: bool) -> list[RunRecord]:
        columns = tables.runs.c
        order = (columns.started_at.desc(), columns.token.desc())
        groups = select(columns.project_id, columns.period).distinct().subquery()
        latest = _find_last(groups, "started_at")
        published = _find_last(groups, "published_at")
        either = (select(found).select_from(groups) for found in (latest, published))
        last = columns.snapshot_sha256.in_(union(*either))
        if not known and not reports:
            rows = self._connection.execute(select(*_leave_out(RUN_REPORTS)).where(last).order_by(*order)).mappings()
            return [_make_run(row) for row in rows]
        light = _leave_out(RUN_DOCUMENTS)
        kept = self._connection.execute(select(*light).where(last).order_by(*order)).mappings().all()
        changed = [row["snapshot_sha256"] for row in kept if not _is_known(row, known)]
        found = {**known, **self._read_runs(changed, reports)}
        return [found[row["snapshot_sha256"]] for row in kept]

    def _read_runs(self, digests: Sequence[str], reports: bool) -> dict[str, RunRecord]:
        wanted = select(*_leave_out(() if reports else RUN_REPORTS))
        found: dict[str, RunRecord] = {}
        for first in range(0, len(digests), MOST_PARAMETERS):
            some = tables.runs.c.snapshot_sha256.in_(digests[first : first + MOST_PARAMETERS])
            rows = self._connection.execute(wanted.where(some)).mappings()
            found |= {row["snapshot_sha256"]: _make_run(row) for row in rows}
        return found

    def is_published(self, project_id: str, period: str) -> bool:
        columns = tables.runs.c
        published = and_(columns.project_id == project_id, columns.period == period, columns.published_at.is_not(None))
        return self._connection.execute(select(columns.run_id).where(published).limit(1)).first() is not None

    def find_lease(self, project_id: str, period: str) -> LeaseRow | None:
        row = self._find(tables.leases, project_id=project_id, period=period)
        return None if row is None else LeaseRow(**row)

    def list_held_leases(self, calendar: str, period: str) -> list[LeaseRow]:
        return [LeaseRow(**row) for row in self._list(tables.leases, calendar=calendar, period=period, state="held")]

    def put_lease(self, lease: LeaseRow) -> None:
        self._put(tables.leases, **{column.name: getattr(lease, column.name) for column in tables.leases.columns})

    def find_period(self, calendar: str, period: str) -> PeriodRecord | None:
        return next(iter(self._list_periods(calendar=calendar, period=period)), None)

    def list_periods(self, calendar: str | None) -> list[PeriodRecord]:
        return self._list_periods(**({} if calendar is None else {"calendar": calendar}))

    def put_period(self, record: PeriodRecord, change: PeriodChange) -> None:
        key = {"calendar": record.calendar, "period": record.period}
        self._put(tables.periods, **key, status=record.status)
        self._put(
            tables.period_changes,
            **key,
            number=len(record.history),
            status=change.status,
            previous=change.previous,
            who=change.who,
            reason=change.reason,
            at=_to_millis(change.at),
        )

    def list_publications(self, project: str, period: str | None, limit: int | None) -> list[Publication]:
        columns = tables.publications.c
        order = (columns.published_at.desc(), columns.number.desc())
        query = select(tables.publications).order_by(*order).limit(limit)
        query = query.where(or_(columns.project_id == project, columns.project_name == project))
        if period is not None:
            query = query.where(columns.period == period)
        return [_make_publication(row) for row in self._connection.execute(query).mappings()]

    def add_publication(self, publication: Publication) -> None:
        values = {column.name: getattr(publication, column.name) for column in tables.publications.columns}
        values |= {"published_at": _to_millis(publication.published_at), "report": _dump(publication.report)}
        self._connection.execute(tables.publications.insert().values(**values))

    def list_overrides(self, project_id: str, period: str | None) -> list[Override]:
        found = self._list(tables.overrides, project_id=project_id, **({} if period is None else {"period": period}))
        rows = [Override(**_read_times(row, "at", "withdrawn_at")) for row in found]
        return sorted(rows, key=lambda row: (row.at, row.number))

    def put_override(self, override: Override) -> None:
        values = {column.name: getattr(override, column.name) for column in tables.overrides.columns}
        times = {"at": _to_millis(override.at), "withdrawn_at": _to_millis(override.withdrawn_at)}
        self._put(tables.overrides, **values | times)

    def list_approvals(self, run_id: str) -> list[Approval]:
        found = (Approval(**_read_times(row, "at")) for row in self._list(tables.approvals, run_id=run_id))
        return sorted(found, key=lambda row: row.at or to_datetime(0))

    def add_approval(self, approval: Approval) -> None:
        values = {column.name: getattr(approval, column.name) for column in tables.approvals.columns}
        self._put(tables.approvals, **values | {"at": _to_millis(approval.at)})

    def list_releases(self, project_id: str, period: str) -> list[Release]:
        found = self._list(tables.releases, project_id=project_id, period=period)
        return sorted((Release(**_read_times(row, "at")) for row in found), key=lambda row: row.number)

    def add_release(self, release: Release) -> None:
        values = {column.name: getattr(release, column.name) for column in tables.releases.columns}
        self._connection.execute(tables.releases.insert().values(**values | {"at": _to_millis(release.at)}))

    def find_dataset(self, reference: str) -> DatasetRow | None:
        row = self._find(tables.datasets, dataset_id=reference) or self._find(tables.datasets, name=reference)
        return None if row is None else DatasetRow(**row)

    def list_datasets(self) -> list[DatasetRow]:
        return sorted((DatasetRow(**row) for row in self._list(tables.datasets)), key=lambda row: row.name)

    def put_dataset(self, row: DatasetRow) -> None:
        self._put(tables.datasets, dataset_id=row.dataset_id, name=row.name, latest_version=row.latest_version)

    def find_current_slice(self, dataset_id: str, period: str) -> SliceRow | None:
        row = self._find(tables.slices, dataset_id=dataset_id, period=period, replaced_in=None)
        return None if row is None else _make_slice(row)

    def list_slices(self, dataset_id: str, version: int) -> list[SliceRow]:
        columns = tables.slices.c
        query = select(tables.slices).where(
            columns.dataset_id == dataset_id,
            columns.first_version <= version,
            or_(columns.replaced_in.is_(None), columns.replaced_in > version),
        )
        found = [_make_slice(row) for row in self._connection.execute(query).mappings()]
        # Sorted here: databases differ in how they order text.
        return sorted(found, key=lambda row: row.period)

    def add_slice(self, row: SliceRow) -> None:
        values = {column.name: getattr(row, column.name) for column in tables.slices.columns}
        self._connection.execute(tables.slices.insert().values(**values | {"definition": _dump(row.definition)}))

    def end_slice(self, dataset_id: str, period: str, replaced_in: int) -> None:
        columns = tables.slices.c
        current = and_(columns.dataset_id == dataset_id, columns.period == period, columns.replaced_in.is_(None))
        self._connection.execute(update(tables.slices).where(current).values(replaced_in=replaced_in))

    def find_version(self, dataset_id: str, version: int) -> VersionRow | None:
        row = self._find(tables.versions, dataset_id=dataset_id, version=version)
        return None if row is None else _make_version(row)

    def list_versions(self, dataset_id: str) -> list[VersionRow]:
        found = [_make_version(row) for row in self._list(tables.versions, dataset_id=dataset_id)]
        return sorted(found, key=lambda row: row.version)

    def find_newer_definition(self, dataset_id: str, project_id: str, project_version: int) -> Mapping[str, Any] | None:
        runs, versions = tables.runs.c, tables.versions.c
        query = (
            select(versions.definition)
            .join(tables.runs, runs.snapshot_sha256 == versions.snapshot_sha256)
            .where(versions.dataset_id == dataset_id)
            .where(runs.project_id == project_id, runs.project_version > project_version)
            .order_by(runs.project_version.desc(), versions.version.desc())
            .limit(1)
        )
        found = self._connection.execute(query).scalar_one_or_none()
        return None if found is None else json.loads(found)

    def add_version(self, row: VersionRow) -> None:
        values = {column.name: getattr(row, column.name) for column in tables.versions.columns}
        self._connection.execute(tables.versions.insert().values(**values | {"definition": _dump(row.definition)}))

    def find_registration(self, snapshot_sha256: str, output_seq: int, uri: str) -> Registration | None:
        row = self._find(tables.registrations, snapshot_sha256=snapshot_sha256, output_seq=output_seq, uri=uri)
        return None if row is None else _make_registration(row)

    def list_registrations(self, snapshot_sha256: str, token: int) -> list[Registration]:
        found = self._list(tables.registrations, snapshot_sha256=snapshot_sha256, token=token)
        return sorted((_make_registration(row) for row in found), key=lambda item: item.output_seq)

    def add_registration(self, snapshot_sha256: str, token: int, registration: Registration) -> None:
        values = {name: getattr(registration, name) for name in Registration.__slots__}
        self._put(tables.registrations, snapshot_sha256=snapshot_sha256, token=token, **values)

    def _list_periods(self, **key: str) -> list[PeriodRecord]:
        histories: dict[tuple[str, str], list[PeriodChange]] = {}
        for row in sorted(self._list(tables.period_changes, **key), key=lambda row: row["number"]):
            change = PeriodChange(row["status"], row["previous"], row["who"], row["reason"], to_datetime(row["at"]))
            histories.setdefault((row["calendar"], row["period"]), []).append(change)
        return [
            PeriodRecord(*name, last[-1].status, last[-1].who, last[-1].reason, last[-1].at, tuple(last))
            for name, last in sorted(histories.items())
        ]

    def _list(self, table: Table, **key: Any) -> list[RowMapping]:
        conditions = [
            table.c[name].is_(None) if value is None else table.c[name] == value for name, value in key.items()
        ]
        return list(self._connection.execute(select(table).where(*conditions)).mappings())

    def _find(self, table: Table, **key: Any) -> RowMapping | None:
        return next(iter(self._list(table, **key)), None)

    def _put(self, table: Table, **values: Any) -> None:
        insert = sqlite.insert if self._connection.dialect.name == "sqlite" else postgresql.insert
        keys = [column.name for column in table.primary_key.columns]
        changes = {name: value for name, value in values.items() if name not in keys}
        statement = insert(table).values(**values).on_conflict_do_update(index_elements=keys, set_=changes)
        self._connection.execute(statement)


def _find_last(groups: Subquery, moment: str) -> ScalarSelect[str]:
    """Return the digest of the last run of each project and period, which an index finds without a sort."""
    runs = tables.runs.alias()
    of_group = (runs.c.project_id == groups.c.project_id, runs.c.period == groups.c.period)
    query = select(runs.c.snapshot_sha256).where(*of_group, runs.c[moment].is_not(None)).correlate(groups)
    return query.order_by(runs.c[moment].desc(), runs.c.token.desc()).limit(1).scalar_subquery()


def _is_known(row: RowMapping, known: Mapping[str, RunRecord]) -> bool:
    """Return whether a run is as it was when it was read before: its documents change with these."""
    run = known.get(row["snapshot_sha256"])
    if run is None or (run.status, run.token, run.attempt) != (row["status"], row["token"], row["attempt"]):
        return False
    return all(_to_millis(getattr(run, name)) == row[name] for name in RUN_TIMES)


def _to_millis(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def _dump(document: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> str | None:
    return None if document is None else json.dumps(document, sort_keys=True, ensure_ascii=True, default=str)


def _leave_out(names: Collection[str]) -> list[Column[Any]]:
    return [column for column in tables.runs.c if column.name not in names]


def _make_run(row: RowMapping) -> RunRecord:
    values: dict[str, Any] = dict(row)
    values |= {name: None if row[name] is None else to_datetime(row[name]) for name in RUN_TIMES}
    values |= {name: json.loads(row[name]) for name in RUN_DOCUMENTS if row.get(name) is not None}
    listed = {"sources": tuple(values["sources"] or ()), "check_counts": values["check_counts"] or {}}
    return RunRecord(**{**values, **listed})


def _make_publication(row: RowMapping) -> Publication:
    return Publication(**{**_read_times(row, "published_at"), "report": json.loads(row["report"])})


def _read_times(row: RowMapping, *names: str) -> dict[str, Any]:
    return {**row, **{name: None if row[name] is None else to_datetime(row[name]) for name in names}}


def _make_slice(row: RowMapping) -> SliceRow:
    return SliceRow(**{**row, "definition": json.loads(row["definition"])})


def _make_version(row: RowMapping) -> VersionRow:
    return VersionRow(**{**row, "definition": json.loads(row["definition"])})


def _make_registration(row: RowMapping) -> Registration:
    return Registration(**{name: row[name] for name in Registration.__slots__})
