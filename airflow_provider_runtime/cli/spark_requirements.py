"""What a Spark of this machine needs, looked for before it starts: its own messages explain little."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from airflow_provider_runtime.core.errors import InfrastructureError, Problem


def require_pyspark() -> None:
    """Raise INFRA_001 where pyspark is missing, or is in one folder with another version of pyspark-client."""
    if find_spec("pyspark") is None:
        hint = "install it with: pip install 'airflow-provider-runtime[spark]'"
        raise InfrastructureError(Problem("INFRA_001", "pyspark is not installed", hint))
    spark, client = _find_version("pyspark"), _find_version("pyspark-client")
    if spark and client and spark.split(".")[:2] != client.split(".")[:2]:
        message = f"pyspark {spark} and pyspark-client {client} are both installed, and overwrite each other's files"
        hint = f"install one version of both: pip install --force-reinstall pyspark=={client} pyspark-client=={client}"
        raise InfrastructureError(Problem("INFRA_001", message, hint))


def require_java() -> None:
    """Raise INFRA_001 where Spark would find no Java."""
    home = os.environ.get("JAVA_HOME")
    if home and shutil.which(Path(home, "bin", "java")) is None:
        hint = "set JAVA_HOME to the folder of a Java 17 or 21, or unset it to use the java on the PATH"
        raise InfrastructureError(Problem("INFRA_001", f"JAVA_HOME is {home}, which has no bin/java", hint))
    if not home and shutil.which("java") is None:
        hint = "install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one"
        raise InfrastructureError(Problem("INFRA_001", "Spark needs Java, and there is none on the PATH", hint))


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
