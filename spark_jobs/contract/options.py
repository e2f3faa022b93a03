"""Options of readers and writers, whose names Spark compares without regard to case; and those that are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

CODE_IN_OPTION = re.compile(
    r"^(?:prepare)?query$|init(?:statement|sql)|dbtable|createtable|factory|class|interceptor|deserializ|callback"
    r"|verifier|plugin|provider$|failover\.proxy\.provider|logger|(?<!de)script|jaas|^init$|^hint$|[-._]impl$|codecs$|signer"
    r"|^parquet\.read\.filter$|jndi|inifile|initfile|infile|trace(?:file|dir)|propertiestransform|eventhandler"
    r"|balancestrategy|exceptionchecker|browser|load_?extension",
    re.IGNORECASE,
)
CLASS_NAME = re.compile(r"(?:^|[,;:\s])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.[A-Z][\w$]*(?:$|[,;:\s])", re.ASCII)
# Names of people and databases and patterns of dates may look like names of classes.
NO_CLASS_IN = re.compile(
    r"driver|url|user(?:name)?|\w*schema|\w*database(?:name)?|\w*format|\w*value|pathglobfilter",
    re.IGNORECASE | re.ASCII,
)
COMPRESSION = re.compile(r"(?:.*\.)?(?:compression|compress|codec)", re.IGNORECASE)
PLAIN_WORD = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
# How a bucket or container is logged in to is chosen by names of classes of Hadoop's own.
LOGIN_OF_STORE = re.compile(
    r"fs\.s3a\.(?:bucket\.[^.]+\.)?aws\.credentials\.provider=.*"
    r"|fs\.azure\.account\.oauth\.provider\.type(?:\.[\w.-]+)?=org\.apache\.hadoop\.fs\.azurebfs\.[\w.]+",
    re.ASCII | re.DOTALL,
)
OPTIONS_OF_URL = re.compile(r"[?&;(,:/#]\s*([^=?&;(),:/#]+)=")
# Hadoop cuts blanks off names.
PLACE_OF_FILES = re.compile(
    r"[\x00-\x20]*(?:paths?|mapreduce\.output\.(?:basename|fileoutputformat\.outputdir)|mapred\.output\.dir)[\x00-\x20]*",
    re.IGNORECASE,
)

KNOWN_FORMATS = ("parquet", "csv", "json", "orc", "jdbc", "iceberg", "delta")
"""Formats that Spark takes in any case, and that are compared in lower case here."""
# Hadoop takes this for a path too, and a session may have a setting of its own.
PLAIN_NAMES: Mapping[str, str] = {"mapreduce.output.basename": "part"}
FAILFAST: Mapping[str, str] = {"mode": "FAILFAST"}
"""In its other modes Spark leaves out what it cannot read."""
STRICT: Mapping[str, Mapping[str, str]] = {
    "csv": {
        **FAILFAST,
        # Or files whose headers differ have their columns mixed up.
        "enforceSchema": "false",
        # Or a line with too few or too many values goes unnoticed.
        "columnPruning": "false",
    },
    "json": FAILFAST,
    "xml": FAILFAST,
}
"""How the job reads files of a format, whatever the options of a datasource ask for."""
NO_FILE_LEFT_OUT: Mapping[str, str] = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""How the job reads files of every format; the session has these off."""
VERIFIED: Mapping[str, str] = {"parquet.page.verify-checksum.enabled": "true"}
"""How Parquet is read: or a number in which a bit has turned is another one. Pages need not have checksums."""


def get_option(options: Mapping[str, str], name: str) -> str | None:
    """Return the value of an option, however its name is spelled."""
    return next((value for key, value in options.items() if key.lower() == name.lower()), None)


def merge_options(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return options of which later ones take the place of earlier ones, however their names are spelled."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(merged.values())


def drop_options(options: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return options without some, however their names are spelled."""
    dropped = {name.lower() for name in names}
    return {name: value for name, value in options.items() if name.lower() not in dropped}


def moves_files(name: str) -> bool:
    """Return whether an option says where files are or what they are called: only paths and prefixes say that."""
    return PLACE_OF_FILES.fullmatch(name) is not None


def runs_code(name: str, value: str) -> bool:
    """Return whether an option may hold a statement, or the name of a class to be loaded."""
    name = name.strip()
    if LOGIN_OF_STORE.fullmatch(f"{name}={value}"):
        return False
    if COMPRESSION.fullmatch(name):
        return not PLAIN_WORD.fullmatch(value)
    if name.lower() == "url" and any(
        CODE_IN_OPTION.search(key.strip("{} \t\r\n"))
        # Drivers decode `%65` in names before they compare them.
        for key in (*OPTIONS_OF_URL.findall(value), *OPTIONS_OF_URL.findall(unquote(value)))
    ):
        return True
    return bool(CODE_IN_OPTION.search(name) or (CLASS_NAME.search(value) and not NO_CLASS_IN.fullmatch(name)))
