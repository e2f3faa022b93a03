"""Values on the command line: days, timestamps, registries, settings of Spark."""

from __future__ import annotations

from datetime import date, datetime

import click

from airflow_provider_runtime.core.registry.addresses import ADDRESS_HINT, find_address_fault
from airflow_provider_runtime.core.run_timestamps import read_run_timestamp


class Day(click.ParamType[date]):
    """An ISO date."""

    name = "date"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Read the date."""
        try:
            return value if isinstance(value, date) else date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a date; write it like 2026-01-31", param, ctx)


class RunTimestamp(click.ParamType[datetime]):
    """An ISO timestamp; without a zone it is UTC."""

    name = "timestamp"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read the timestamp."""
        try:
            return value if isinstance(value, datetime) else read_run_timestamp(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class RegistryUrl(click.ParamType[str]):
    """An SQLAlchemy URL of a registry."""

    name = "url"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what cannot be one, without repeating it: it may hold a password."""
        fault = find_address_fault(str(value))
        if fault is not None:
            self.fail(f"{fault}; {ADDRESS_HINT}", param, ctx)
        return str(value)


class Setting(click.ParamType[tuple[str, str]]):
    """A setting of Spark, as KEY=VALUE."""

    name = "setting"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split key and value."""
        if isinstance(value, tuple):
            return value
        key, separator, setting = str(value).partition("=")
        if not separator or not key.strip():
            # The value may hold a secret, which is not repeated.
            self.fail("a setting is written KEY=VALUE", param, ctx)
        return key.strip(), setting
