"""Properties of JDBC connections: what is listed is allowed, everything else is refused."""

from __future__ import annotations

import pytest

from spark_jobs.contract.jdbc_properties import DATABASES, ENVIRONMENT_VARIABLE, find_refused_properties, list_allowed

ALLOWED = [
    "jdbc:postgresql://h:5432/d?ssl=true&sslmode=require&ApplicationName=x&currentSchema=a,b&targetServerType=primary",
    "jdbc:mysql://h:3306/d?useSSL=true&connectionTimeZone=UTC&rewriteBatchedStatements=true",
    "jdbc:mysql://address=(host=h)(port=3306)/d",
    "jdbc:mariadb://h/d?sslMode=verify-full&useSsl",
    "jdbc:postgresql://h/d?",
    "jdbc:postgresql://h/d?ssl&currentSchema=a%26b",
    "jdbc:sqlserver://h:1433;databaseName=d;encrypt=true;trustServerCertificate=false;applicationIntent=ReadOnly",
    "jdbc:sqlserver://h\\instance;databaseName={my;d}",
    "jdbc:oracle:thin:@h:1521:sid",
    "jdbc:oracle:thin:@//h:1521/service",
    "jdbc:oracle:thin:@(DESCRIPTION=(LOAD_BALANCE=on)(ADDRESS=(PROTOCOL=TCPS)(HOST=h)(PORT=1521))"
    "(CONNECT_DATA=(SERVICE_NAME=x))(SECURITY=(SSL_SERVER_DN_MATCH=yes)))",
    "jdbc:db2://h:50000/d:sslConnection=true;currentSchema=X;",
    "jdbc:snowflake://a.snowflakecomputing.com/?db=D&warehouse=W&role=R",
    "jdbc:as400://h/lib;naming=sql;login timeout=30",
    "jdbc:teradata://h/DATABASE=d,TMODE=ANSI,CHARSET=UTF8",
    "jdbc:trino://h:8443/catalog/schema?SSL=true",
]
REFUSED = [
    ("jdbc:postgresql://h/d?loggerFile=/etc/x", "loggerFile"),
    ("jdbc:postgresql://h/d?ssl=true&socketFactory=x", "socketFactory"),
    ("jdbc:postgresql://h/d?ssl=true&socket%46actory=x", "socketFactory"),
    ("jdbc:postgresql://h/d?options=-c%20x", "options"),
    ("jdbc:trino://h:1/c?dnsResolver=x.Y", "dnsResolver"),
    ("jdbc:redshift://h/d;LogPath=/tmp", "LogPath"),
    ("jdbc:netezza://h/d;logDirPath=/tmp", "logDirPath"),
    ("jdbc:exa:h:1;logdir=/tmp", "logdir"),
    ("jdbc:sybase:Tds:h:1/d?PROTOCOL_CAPTURE=/tmp/x", "PROTOCOL_CAPTURE"),
    ("jdbc:oracle:thin:@config-https://evil/x", "config-https"),
    ("jdbc:oracle:thin:@h:1/s?TNS_ADMIN=/tmp", "TNS_ADMIN"),
    ("jdbc:mysql://address=(host=h)(socketFactory=x)/d", "socketFactory"),
    ("jdbc:mysql://h/d?allowLoadLocalInfile=true", "allowLoadLocalInfile"),
    ("jdbc:sqlserver://h; {traceFile}=x", "traceFile"),
    ("jdbc:db2://h:1/d:traceFile=/tmp/x;", "traceFile"),
    ("jdbc:snowflake://h/?tracing=ALL", "tracing"),
    ("jdbc:mariadb://h/d?allowLocalInfile", "allowLocalInfile"),
    ("jdbc:mariadb://h/d?useSsl=true&allowMulti%51ueries", "allowMultiQueries"),
    ("jdbc:postgresql://h/d?ssl&logServerErrorDetail&", "logServerErrorDetail"),
    ("jdbc:unknown://h/d?ssl=true", "ssl"),
]


@pytest.mark.parametrize("url", ALLOWED)
def test_usual_addresses_are_taken(url: str) -> None:
    assert not list(find_refused_properties({"URL": url, "driver": "x.Y", "fetchSize": "5"}, {}))


@pytest.mark.parametrize(("url", "name"), REFUSED)
def test_property_that_is_not_listed_is_refused(url: str, name: str) -> None:
    found = list(find_refused_properties({"url": url}, {}))
    assert name in [refused.name for refused in found]
    assert f"environment variable {ENVIRONMENT_VARIABLE}" in found[0].hint


@pytest.mark.parametrize("name", ["preactions", "postactions", "sessionInitStatement", "query", "dbtable", "oops"])
def test_option_beside_the_url_is_refused_as_well(name: str) -> None:
    (refused,) = find_refused_properties({"url": "jdbc:postgresql://h/d", f" {name.upper()}": "x"}, {})
    assert refused.name == name.upper()
    assert "allowed are adaptiveFetch, " in refused.hint


def test_url_that_is_a_secret_leaves_the_properties_of_all_databases() -> None:
    assert not list(find_refused_properties({"applicationIntent": "x", "sslmode": "y"}, {}))
    assert list(find_refused_properties({"loggerFile": "x"}, {}))


@pytest.mark.parametrize(
    ("permitted", "is_allowed"),
    [
        ("postgresql:loggerLevel,LOGGERFILE", True),
        ("oracle:TNS_ADMIN; postgresql : loggerfile", True),
        ("postgresql:*", True),
        ("mysql:loggerFile", False),
        ("", False),
    ],
)
def test_administrator_allows_more(permitted: str, is_allowed: bool) -> None:
    url = "jdbc:postgresql://h/d?loggerFile=x"
    assert bool(list(find_refused_properties({"url": url}, {ENVIRONMENT_VARIABLE: permitted}))) != is_allowed


def test_every_database_has_a_list() -> None:
    assert all(list_allowed(database) for database in DATABASES)
