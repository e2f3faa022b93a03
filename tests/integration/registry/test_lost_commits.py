"""A registry behind a network that loses the answer of the commit which registers."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.errors import InfrastructureError
from airflow_provider_runtime.core.registry.sql import SqlRegistry, open_registry
from tests.integration.lossy_proxy import LossyProxy, start_lossy_proxy
from tests.integration.postgres import PostgresServer
from tests.unit.core.registry.registry_cases import ELSEWHERE, make_start, make_write, read

pytestmark = pytest.mark.integration

REGISTER = b"INSERT INTO runtime_dataset_versions"


def open_through(proxy: LossyProxy, url: str, patience_seconds: float = 10.0) -> SqlRegistry:
    return open_registry(url.replace(f":{proxy.target_port}/", f":{proxy.port}/"), patience_seconds=patience_seconds)


def test_registration_whose_answer_was_lost_is_found_and_not_repeated(postgres_server: PostgresServer) -> None:
    with start_lossy_proxy(postgres_server.port, REGISTER) as proxy:
        registry = open_through(proxy, postgres_server.make_database())
        attempt = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
        (done,) = registry.finish_attempt(attempt, [make_write()], {})
        assert (proxy.lost, proxy.count(REGISTER)) == (1, 1)
        assert (done.version, done.created) == (1, False)
        assert len(registry.list_versions("DS")) == 1
        assert read(registry) == [("2026-01", "file:/s/1")]
        run = registry.find_run("run-a")
        assert run is not None
        assert run.status == "succeeded"
        registry.close()


def test_registration_lost_with_the_network_is_found_by_the_retry_of_the_run(postgres_server: PostgresServer) -> None:
    url = postgres_server.make_database()
    with start_lossy_proxy(postgres_server.port, REGISTER, down_afterwards=True) as proxy:
        registry = open_through(proxy, url, patience_seconds=1.0)
        attempt = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
        with pytest.raises(InfrastructureError, match="INFRA_001"):
            registry.finish_attempt(attempt, [make_write(content="same")], {})
        proxy.repair()
        again = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
        (done,) = registry.finish_attempt(again, [make_write("file:/s/2", content="same")], {})
        assert (done.version, done.uri, done.created) == (1, "file:/s/1", False)
        assert len(registry.list_versions("DS")) == 1
        registry.close()
