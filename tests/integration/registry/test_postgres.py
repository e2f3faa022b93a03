from __future__ import annotations

import pytest

from tests.unit.core.registry.registry_cases import RegistryCases
from tests.unit.core.registry.staged_run_cases import StagedRunCases

pytestmark = pytest.mark.integration


class TestPostgres(RegistryCases, StagedRunCases):
    """PostgreSQL, by the fixture `registry`."""
