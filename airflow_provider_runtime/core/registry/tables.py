"""Tables of the registry. Times are milliseconds since 1970; names begin with `runtime_`, apart from Airflow's."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, String, Table, Text

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""Known states of the schema, the latest last."""
VERSION_TABLE = "runtime_schema_version"

metadata = MetaData()

definitions = Table(
    "runtime_definitions",
    metadata,
    Column("kind", String(32), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("first_run_id", Text, nullable=False),
)
runs = Table(
    "runtime_runs",
    metadata,
    Column("snapshot_sha256", String(80), primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("project_id", Text, nullable=False),
    Column("project_name", Text, nullable=False),
    Column("project_version", Integer, nullable=False),
    Column("calendar", Text, nullable=False),
    Column("period", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("published_at", BigInteger),
    Column("snapshot_uri", Text),
    Column("invocation", Text),
    Column("rows_in", BigInteger),
    Column("report", Text),
    Column("error", Text),
    Column("who", Text, nullable=False),
    Column("staged_until", BigInteger),
    Column("base_publication", Integer),
    Column("basis", Text),
    Column("sources", Text),
    Column("check_counts", Text),
    Index("runtime_runs_by_id", "run_id"),
    Index("runtime_runs_by_order", "project_id", "period", "started_at", "token", "snapshot_sha256"),
    Index("runtime_runs_by_publication", "project_id", "period", "published_at", "token", "snapshot_sha256"),
    Index("runtime_runs_by_name", "project_name", "period"),
    Index("runtime_runs_by_start", "started_at"),
)
leases = Table(
    "runtime_leases",
    metadata,
    Column("project_id", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("calendar", Text, nullable=False),
    Column("snapshot_sha256", String(80), nullable=False),
    Column("holder", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("heartbeat_millis", BigInteger, nullable=False),
    Column("expires_millis", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
)
periods = Table(
    "runtime_periods",
    metadata,
    Column("calendar", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("status", String(16), nullable=False),
)
period_changes = Table(
    "runtime_period_changes",
    metadata,
    Column("calendar", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("previous", String(16), nullable=False),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
datasets = Table(
    "runtime_datasets",
    metadata,
    Column("dataset_id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("latest_version", Integer, nullable=False),
)
versions = Table(
    "runtime_dataset_versions",
    metadata,
    Column("dataset_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("period", Text, nullable=False),
    Column("created_millis", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("snapshot_sha256", String(80), nullable=False),
)
slices = Table(
    "runtime_slices",
    metadata,
    Column("dataset_id", Text, primary_key=True),
    Column("first_version", Integer, primary_key=True),
    Column("period", Text, nullable=False),
    Column("uri", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("definition", Text, nullable=False),
    Column("output_seq", Integer, nullable=False),
    Column("snapshot_sha256", String(80), nullable=False),
    Column("content", Text),
    Column("token", BigInteger, nullable=False),
    Column("replaced_in", Integer),
    Index("runtime_slices_by_period", "dataset_id", "period"),
)
registrations = Table(
    "runtime_registrations",
    metadata,
    Column("snapshot_sha256", String(80), primary_key=True),
    Column("token", BigInteger, primary_key=True),
    Column("output_seq", Integer, primary_key=True),
    Column("dataset_id", Text, nullable=False),
    Column("dataset_name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("uri", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("created", Boolean, nullable=False),
)
publications = Table(
    "runtime_publications",
    metadata,
    Column("project_id", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("project_name", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("snapshot_sha256", String(80), nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("published_at", BigInteger, nullable=False),
    Column("report", Text, nullable=False),
    Index("runtime_publications_by_name", "project_name", "period"),
)
overrides = Table(
    "runtime_overrides",
    metadata,
    Column("project_id", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("check", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("withdrawn_by", Text),
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_reason", Text),
)
approvals = Table(
    "runtime_approvals",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("at", BigInteger, primary_key=True),
    Column("decision", String(16), nullable=False),
    Column("preparer", Text, nullable=False),
    Column("approver", Text, nullable=False),
    Column("claimed_name", Text),
    Column("real_user", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
)
releases = Table(
    "runtime_releases",
    metadata,
    Column("project_id", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
