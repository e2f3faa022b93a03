from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.tables.kit import TableKit


@pytest.fixture(params=["iceberg", "delta"])
def kit(request: Any, tmp_path: Path) -> TableKit:
    return TableKit(request.param, tmp_path)
