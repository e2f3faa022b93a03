"""Durations: numbers with units, one or several."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_provider_runtime.core.model.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "expected"), [("3d", timedelta(days=3)), ("1d12h", timedelta(hours=36)), ("90m", timedelta(minutes=90))]
)
def test_duration_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "3", "d", "3x", "-3d", "P3D", "0s", "2H", "2 h", " 2h", "999999w"])
def test_duration_that_is_not_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_duration(text)
