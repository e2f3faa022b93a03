from __future__ import annotations

from tests.unit.core.registry.registry_cases import RegistryCases


class TestRegistry(RegistryCases):
    """Memory and SQLite, by the fixture `registry`."""
