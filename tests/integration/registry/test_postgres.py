from __future__ import annotations

import pytest

from tests.unit.registry.registry_cases import RegistryCases

pytestmark = pytest.mark.integration


class TestPostgres(RegistryCases):
    """PostgreSQL, by the fixture `registry`."""
