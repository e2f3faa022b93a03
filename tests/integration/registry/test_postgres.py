from __future__ import annotations

import pytest

from tests.unit.core.registry.registry_cases import RegistryCases

pytestmark = pytest.mark.integration


class TestPostgres(RegistryCases):
    """PostgreSQL, by the fixture `registry`."""
