from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.crashes.books import JANUARY
from tests.integration.crashes.test_kills import Rows, make_books
from tests.integration.postgres import PostgresServer


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, spark: SparkSession
) -> Iterator[dict[int, Rows]]:
    """What each state of the ledger comes to when nothing goes wrong, on another master, elsewhere."""
    books = make_books(tmp_path_factory.mktemp("undisturbed"), postgres_server, "sqlite", spark)
    found = {2: books.read_all()}
    books.run(JANUARY, 1, spark)
    found[1] = books.read_all()
    yield found
    books.registry.close()
