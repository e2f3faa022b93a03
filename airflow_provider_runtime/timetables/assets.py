"""Registered datasets as Airflow assets: one stable URI for each name."""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Asset

NAMESPACE = "runtime://datasets"
"""Of registered datasets: with a name it is the URI of the dataset's asset, in OpenLineage their namespace."""


def make_asset(name: str) -> Asset:
    """Return the asset of a registered dataset."""
    return Asset(name=name if name.isascii() else quote(name), uri=make_asset_uri(name), group="runtime")


def make_asset_uri(name: str) -> str:
    """Return the URI of a registered dataset's asset."""
    return f"{NAMESPACE}/{quote(name, safe='')}"
