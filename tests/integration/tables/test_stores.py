"""The same commits and pins in other catalogs and stores: REST, PostgreSQL, Glue, S3."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables import TableAddress, open_table
from tests.integration.tables import test_committing as committing
from tests.integration.tables import test_pinning as pinning
from tests.integration.tables.kit import LEDGER, TableKit, lines
from tests.integration.tables.rest_catalog import CLIENT, SECRET, RestCatalogServer

KEYS = {"s3.access-key-id": "testing", "s3.secret-access-key": "testing"}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a server that answers as S3 and Glue do."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    # A process of its own: deltalake keeps Python's lock while it waits for some answers.
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        assert server.poll() is None, "moto's server does not start"
        with suppress(OSError), urlopen(f"{address}/moto-api/"):
            break
        time.sleep(0.1)
    yield address
    server.kill()
    server.wait()


@pytest.fixture
def bucket(s3: str) -> str:
    import boto3

    name = f"lake-{uuid4().hex[:8]}"
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=s3, **keys).create_bucket(Bucket=name)
    return f"s3://{name}"


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestCatalogServer]:
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path / 'warehouse'}"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("finance")
    with RestCatalogServer(catalog).serving() as server:
        yield server


def make_rest_kit(root: Path, rest: RestCatalogServer) -> TableKit:
    properties = {"type": "rest", "uri": rest.uri, "credential": f"{CLIENT}:{SECRET}", "warehouse": "lake"}
    properties["oauth2-server-uri"] = f"{rest.uri}/v1/oauth/tokens"
    return TableKit("iceberg", root, properties=properties)


def make_glue_kit(root: Path, endpoint: str) -> TableKit:
    """A table in an empty Glue, with its files in a folder."""
    with urlopen(f"{endpoint}/moto-api/reset", data=b""):
        pass
    keys = {"glue.access-key-id": "testing", "glue.secret-access-key": "testing", "glue.region": "us-east-1"}
    return TableKit("iceberg", root, properties={"type": "glue", "glue.endpoint": endpoint, **keys})


@pytest.fixture(params=["rest", "postgresql", "glue", "iceberg on s3", "delta on s3"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> TableKit:
    if request.param == "rest":
        return make_rest_kit(tmp_path, request.getfixturevalue("rest"))
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_server").make_database()
        return TableKit("iceberg", tmp_path, properties={"uri": url})
    if request.param == "glue":
        return make_glue_kit(tmp_path, request.getfixturevalue("s3"))
    bucket, endpoint = request.getfixturevalue("bucket"), request.getfixturevalue("s3")
    if request.param == "iceberg on s3":
        return TableKit("iceberg", tmp_path, store=bucket, properties={**KEYS, "s3.endpoint": endpoint})
    names = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
    options = {**names, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
    return TableKit("delta", tmp_path, store=bucket, properties=options)


CASES: tuple[Callable[[TableKit], None], ...] = (
    committing.test_first_commit_makes_the_table,
    committing.test_period_is_replaced_in_one_version_and_others_stay,
    committing.test_overwrite_replaces_the_whole_table,
    committing.test_new_column_is_added_and_older_rows_have_none,
    committing.test_older_attempt_is_refused_and_its_files_are_removed,
    committing.test_same_rows_of_the_same_snapshot_are_not_committed_twice,
    committing.test_commits_for_other_periods_do_not_conflict,
    committing.test_rows_that_a_stranger_adds_are_a_conflict_in_the_same_period_only,
    committing.test_run_key_of_the_history_names_project_period_snapshot_and_token,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("test_"))
def test_commits_are_the_same_in_every_store(kit: TableKit, case: Callable[[TableKit], None]) -> None:
    case(kit)


def test_pin_is_the_same_in_every_store(kit: TableKit) -> None:
    kit.open().check_output(LEDGER, by_period=True)
    version = kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    kit.publish(lines("2026-01", "3.00"), token=2)
    pinned = pinning.pin(kit, version)
    assert pinned.version == version
    assert [file.rows for file in pinned.files] == [1]
    assert pinning.pin(kit, rows=pinning.JANUARY).files not in (pinned.files, pinning.pin(kit).files)
    assert kit.open().find_state().version not in (None, version)


@pytest.mark.parametrize("count", [1, 2])
def test_commit_whose_answer_a_gateway_has_lost_is_found(tmp_path: Path, rest: RestCatalogServer, count: int) -> None:
    kit = make_rest_kit(tmp_path, rest)
    kit.publish(lines("2026-01", "1.00"))
    rest.lose_answers, rest.commits = count, 0
    committed = kit.open().commit(kit.stage(lines("2026-01", "2.00"), token=2))
    assert (committed.repeated, rest.commits) == (True, 1)
    assert kit.read() == lines("2026-01", "2.00")


def test_table_whose_creation_got_no_answer_is_found(tmp_path: Path, rest: RestCatalogServer) -> None:
    kit = make_rest_kit(tmp_path, rest)
    rest.lose_answers = 1
    assert kit.open().commit(kit.stage(lines("2026-01", "1.00"))).repeated
    assert kit.read() == lines("2026-01", "1.00")
    assert rest.commits == 1


@pytest.mark.parametrize(("status", "code"), [(403, "CATALOG_004"), (401, "CATALOG_004"), (400, "OUTPUT_003")])
def test_commit_that_a_catalog_refuses_leaves_nothing(
    tmp_path: Path, rest: RestCatalogServer, status: int, code: str
) -> None:
    kit = make_rest_kit(tmp_path, rest)
    kit.publish(lines("2026-01", "1.00"))
    rest.refuse_commits = status
    request = kit.stage(lines("2026-01", "2.00"), token=2)
    with pytest.raises(RuntimeProviderError) as caught:
        kit.open().commit(request)
    assert caught.value.code == code
    assert SECRET not in str(caught.value)
    assert kit.has_folder_of(request) is caught.value.retryable
    assert kit.read() == lines("2026-01", "1.00")


def test_catalog_that_is_down_is_worth_a_retry(tmp_path: Path, rest: RestCatalogServer) -> None:
    kit = make_rest_kit(tmp_path, rest)
    kit.publish(lines("2026-01", "1.00"))
    rest.refuse_commits = 503
    request = kit.stage(lines("2026-01", "2.00"), token=2)
    with pytest.raises(RuntimeProviderError) as caught:
        kit.open().commit(request)
    assert caught.value.retryable
    assert kit.has_folder_of(request)
    rest.refuse_commits = 0
    kit.open().commit(request)
    assert kit.read() == lines("2026-01", "2.00")


def test_wrong_login_is_reported_without_the_secret(tmp_path: Path, rest: RestCatalogServer) -> None:
    kit = make_rest_kit(tmp_path, rest)
    wrong = replace(kit.address, properties={**kit.address.properties, "credential": f"{CLIENT}:wrong-4712"})
    with pytest.raises(RuntimeProviderError) as caught:
        open_table(wrong).find_state()
    assert caught.value.code == "CATALOG_004"
    assert "4712" not in str(caught.value)


def test_namespace_that_a_rest_catalog_lacks_is_reported(tmp_path: Path, rest: RestCatalogServer) -> None:
    address = replace(make_rest_kit(tmp_path, rest).address, name="nowhere.ledger")
    with pytest.raises(RuntimeProviderError, match="its namespace is not there") as caught:
        open_table(address).find_location()
    assert caught.value.code == "OUTPUT_002"


def test_login_without_the_address_of_its_tokens(tmp_path: Path, rest: RestCatalogServer) -> None:
    kit = make_rest_kit(tmp_path, rest)
    kit.publish(lines("2026-01", "1.00"))
    properties = {name: value for name, value in kit.address.properties.items() if name != "oauth2-server-uri"}
    found = open_table(replace(kit.address, properties=properties)).find_state()
    assert found.version == kit.open().find_state().version


def test_store_that_is_away_is_worth_a_retry() -> None:
    options = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1"}
    options |= {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "true", "max_retries": "0"}
    with pytest.raises(RuntimeProviderError) as caught:
        open_table(TableAddress("delta", "s3://lake/x", "lake/x", properties=options)).find_state()
    assert caught.value.retryable
