"""Catalogs of Iceberg tables, and what goes wrong with them."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from pyiceberg import exceptions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.committing import AnswerLostError, HeadMovedError
from airflow_provider_runtime.core.tables.folders import AttemptFolder
from airflow_provider_runtime.core.tables.ports import TableAddress

REFUSED = (exceptions.UnauthorizedError, exceptions.ForbiddenError, exceptions.OAuthError, PermissionError)
_DAMAGED = (EOFError, UnicodeDecodeError, SystemError, zlib.error)
"""What reading Avro raises."""
_WRONG_PROPERTIES = (exceptions.NoSuchPropertyException, ModuleNotFoundError)


def connect(address: TableAddress) -> Catalog:
    """Return the catalog of a table."""
    try:
        return load_catalog(address.catalog, **address.properties)
    except exceptions.NotInstalledError as error:
        # The library says which of its extras to install, and nothing else.
        message = f"the catalog '{address.catalog}' needs more of pyiceberg than is installed"
        raise address.make_error("CATALOG_004", message, str(error)) from error
    except (ValueError, TypeError, *_WRONG_PROPERTIES) as error:
        hint = "see the options of the datasource, which are pyiceberg's properties"
        missing = f" ({error.name})" if isinstance(error, ModuleNotFoundError) else ""
        message = f"the catalog '{address.catalog}' cannot be used: {type(error).__name__}{missing}"
        raise address.make_error("CATALOG_004", message, hint) from error


def explain_refusal(address: TableAddress) -> RuntimeProviderError:
    """Return the error of access that was refused."""
    hint = "see the credential and its rights"
    return address.make_error("CATALOG_004", "the catalog or its store refuses the login", hint)


@contextmanager
def translate_errors(address: TableAddress) -> Iterator[None]:
    """Turn what pyiceberg and its catalogs raise into errors of this package; their texts may hold secrets."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (RuntimeProviderError, HeadMovedError, AnswerLostError):
        raise
    except REFUSED as error:
        raise explain_refusal(address) from error
    except exceptions.ValidationError as error:
        if "json_invalid" in str(error):
            raise address.make_damage_error("its metadata file") from error
        message = f"its metadata hold what pyiceberg {version('pyiceberg')} does not know"
        hint = "drop columns of newer types, such as variant, or install a newer pyiceberg"
        raise address.make_error("SOURCE_001", message, hint) from error
    except _DAMAGED as error:
        raise address.make_damage_error("one of its manifests") from error
    except FileNotFoundError as error:
        hint = "restore it, or resolve again to read the current version"
        raise address.make_error("DATA_001", "a file of the table is gone", hint) from error
    except Exception as error:
        message = f"its catalog or store fails with {type(error).__name__}"
        hint = "see that it can be reached from here with the options of the datasource, then try again"
        raise address.make_error("INFRA_001", message, hint) from error


def open_folder(io: FileIO, location: str, folder: str) -> AttemptFolder:
    """Return the folder of an attempt as a place where files can be listed and removed."""
    arrow = io if isinstance(io, PyArrowFileIO) else PyArrowFileIO(io.properties)
    scheme, netloc, path = PyArrowFileIO.parse_location(location, arrow.properties)
    return AttemptFolder(arrow.fs_by_scheme(scheme, netloc), path.rstrip("/"), folder)
