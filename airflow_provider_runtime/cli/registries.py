"""Which registry a command uses: the one that is named, else the embedded one beside the catalog folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.core.registry.ports import Registry

if TYPE_CHECKING:
    from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots

STATE = ".runtime"
"""Folder of an embedded registry, its snapshots and its slices."""
FILE = "registry.db"
SNAPSHOTS = "snapshots"
SLICES = "slices"
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class RegistryChoice:
    """A registry that need not be there yet, and the folder in which its runs keep snapshots and slices."""

    url: str
    state: Path
    file: Path | None = None
    """The file of an embedded registry."""
    passed_over: Path | None = None
    """Where it would be by default, when one in the working folder is used instead."""

    def open(self) -> Registry:
        """Open the registry to write to it; one that is made is announced."""
        from airflow_provider_runtime.core.registry.sql import open_registry

        is_new = self.file is not None and not self.file.exists()
        opened = open_registry(self.url)
        self._say_which()
        if is_new:
            click.echo(f"made a new registry: {self.file}", err=True)
        return opened

    def open_to_read(self, *, quiet: bool = False) -> Registry:
        """Open the registry if it is there; else return an empty one, and make nothing."""
        from airflow_provider_runtime.core.registry.memory import MemoryRegistry
        from airflow_provider_runtime.core.registry.sql import open_registry

        if self.file is None or self.file.exists():
            if not quiet:
                self._say_which()
            return open_registry(self.url)
        if not quiet:
            click.echo(f"there is no registry yet: {self.file}", err=True)
        return MemoryRegistry()

    @property
    def snapshots(self) -> RunSnapshots:
        """The snapshots of the registry's runs."""
        from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots

        return RunSnapshots(self.state.resolve().parent)

    def _say_which(self) -> None:
        if self.passed_over is not None:
            click.echo(f"using the registry of the working folder, {self.file}, not {self.passed_over}", err=True)


def require_catalog(catalog: Path) -> None:
    """Raise CATALOG_001 if the folder does not exist, so that a mistyped path does not create a registry."""
    from airflow_provider_runtime.core.catalog.files import check_folder
    from airflow_provider_runtime.core.errors import raise_problems

    problem = check_folder(catalog)
    raise_problems([] if problem is None else [problem])


def choose_registry(url: str | None, catalog: Path, snapshot: str | None = None) -> RegistryChoice:
    """Return the registry of this URL, else the one in the working folder if there is one, else the catalog's.

    A snapshot that is executed without its catalog belongs to the registry beside its store.
    """
    default = catalog.resolve().parent / STATE
    if url is not None:
        file = Path(url.partition("///")[2]).resolve() if url.startswith("sqlite") else None
        return RegistryChoice(url, default if file is None else file.parent, file)
    here = Path(STATE).resolve()
    if snapshot is not None and not catalog.is_dir():
        stored = Path(snapshot.removeprefix("file://")).resolve().parent.parent
        default = stored if (stored / FILE).exists() else default
    if here == default:
        # A relative path stays what people read in `run --snapshot .runtime/...`.
        return RegistryChoice(f"{_SQLITE}{STATE}/{FILE}", Path(STATE), Path(STATE, FILE))
    if (here / FILE).exists():
        return RegistryChoice(f"{_SQLITE}{STATE}/{FILE}", Path(STATE), Path(STATE, FILE), passed_over=default / FILE)
    return RegistryChoice(f"{_SQLITE}{default / FILE}", default, default / FILE)
