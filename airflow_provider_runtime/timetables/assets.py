"""Registered datasets as Airflow assets: one stable URI for each name."""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Asset

URI_PREFIX = "runtime://datasets/"


def make_asset(name: str) -> Asset:
    """Return the asset of a registered dataset."""
    return Asset(name=name if name.isascii() else quote(name), uri=make_asset_uri(name), group="runtime")


def make_asset_uri(name: str) -> str:
    """Return the URI of a registered dataset's asset."""
    return URI_PREFIX + quote(name, safe="")
