"""Which properties a JDBC connection may have: those that are known to do no more than connect, by kind of database.

Drivers have hundreds of properties. Some load classes, write local files, fetch others from an address or hold
statements, and new ones come with each version, so that every property is refused that is not listed here. An
administrator can allow more in the environment, which the authors of a catalog do not write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

ENVIRONMENT_VARIABLE = "AIRFLOW_RUNTIME_JDBC_PROPERTIES"
"""What an administrator allows beside the lists: `postgresql:options,loggerLevel; oracle:TNS_ADMIN; mysql:*`."""

_SPARK_OPTIONS = """
    batchsize cascadeTruncate customSchema driver fetchsize isolationLevel keytab lowerBound numPartitions
    partitionColumn preferTimestampNTZ principal pushDownAggregate pushDownLimit pushDownOffset pushDownPredicate
    pushDownTableSample queryTimeout refreshKrb5Config schema truncate upperBound url user"""
"""Options of Spark's own reader and writer, for every database."""

_PROPERTIES: Mapping[str, str] = {
    "postgresql": """
        adaptiveFetch adaptiveFetchMaximum adaptiveFetchMinimum ApplicationName assumeMinServerVersion autosave
        binaryTransfer channelBinding cleanupSavepoints connectTimeout currentSchema databaseMetadataCacheFields
        databaseMetadataCacheFieldsMiB defaultRowFetchSize gssEncMode hostRecheckSeconds kerberosServerName
        loadBalanceHosts localSocketAddress loginTimeout maxResultBuffer maxSendBufferSize preferQueryMode
        preparedStatementCacheQueries preparedStatementCacheSizeMiB prepareThreshold protocolVersion readOnly
        readOnlyMode receiveBufferSize requireAuth reWriteBatchedInserts sendBufferSize socketTimeout ssl sslcert
        sslkey sslmode sslNegotiation sslResponseTimeout sslrootcert stringtype targetServerType tcpKeepAlive
        tcpNoDelay""",
    "mysql": """
        address allowPublicKeyRetrieval cachePrepStmts characterEncoding connectionCollation connectionTimeZone
        connectTimeout defaultFetchSize enabledTLSProtocols forceConnectionTimeZoneToSession host maxAllowedPacket
        netTimeoutForStreamingResults port prepStmtCacheSize prepStmtCacheSqlLimit preserveInstants priority protocol
        requireSSL rewriteBatchedStatements sendFractionalSeconds serverTimezone socketTimeout sslMode tcpKeepAlive
        tcpNoDelay tinyInt1isBit tlsVersions transformedBitIsBoolean type useCompression useCursorFetch
        useInformationSchema useServerPrepStmts useSSL useUnicode verifyServerCertificate yearIsDateType""",
    "mariadb": """
        address allowPublicKeyRetrieval cachePrepStmts connectionCollation connectionTimeZone connectTimeout
        defaultFetchSize enabledSslProtocolSuites forceConnectionTimeZoneToSession host permitMysqlScheme port
        prepStmtCacheSize preserveInstants rewriteBatchedStatements serverSslCert socketTimeout sslMode tcpKeepAlive
        timezone tinyInt1isBit transformedBitIsBoolean type useBulkStmts useBulkStmtsForInserts useCompression
        useMysqlMetadata useServerPrepStmts useSsl yearIsDateType""",
    "sqlserver": """
        applicationIntent applicationName authentication authenticationScheme cancelQueryTimeout connectRetryCount
        connectRetryInterval database databaseName delayLoadingLobs disableStatementPooling domain encrypt
        failoverPartner fips hostNameInCertificate instanceName integratedSecurity iPAddressPreference lockTimeout
        loginTimeout maxResultBuffer msiClientId multiSubnetFailover packetSize port portNumber prepareMethod realm
        responseBuffering selectMethod sendStringParametersAsUnicode server serverCertificate serverName serverSpn
        socketTimeout sslProtocol statementPoolingCacheSize transparentNetworkIPResolution trustServerCertificate
        trustStore trustStoreType useBulkCopyForBatchInsert userName workstationID""",
    "oracle": """
        address address_list connect_data connect_timeout defaultRowPrefetch description description_list enable
        failover fixedString host includeSynonyms load_balance oracle.jdbc.defaultRowPrefetch
        oracle.jdbc.implicitStatementCacheSize oracle.jdbc.J2EE13Compliant oracle.jdbc.mapDateToTimestamp
        oracle.jdbc.ReadTimeout oracle.jdbc.timezoneAsRegion oracle.net.CONNECT_TIMEOUT
        oracle.net.crypto_checksum_client oracle.net.crypto_checksum_types_client oracle.net.encryption_client
        oracle.net.encryption_types_client oracle.net.keepAlive oracle.net.READ_TIMEOUT oracle.net.ssl_server_cert_dn
        oracle.net.ssl_server_dn_match oracle.net.ssl_version oracle.net.wallet_location port protocol
        remarksReporting retry_count retry_delay security server service_name sid ssl_server_cert_dn
        ssl_server_dn_match transport_connect_timeout v$session.program""",
    "db2": """
        blockingReadConnectionTimeout clientApplicationInformation clientProgramName
        clientRerouteAlternatePortNumber clientRerouteAlternateServerName clientUser clientWorkstation commandTimeout
        connectionTimeout currentLockTimeout currentSchema deferPrepares enableSeamlessFailover enableSysplexWLB
        fullyMaterializeLobData keepAliveTimeOut kerberosServerPrincipal loginTimeout maxRetriesForClientReroute
        progressiveStreaming queryDataSize readOnly retrieveMessagesFromServerOnGetMessage
        retryIntervalForClientReroute securityMechanism sslCertLocation sslConnection sslTrustStoreLocation
        sslTrustStoreType sslVersion timerLevelForQueryTimeOut""",
    "as400": """
        block_size keep_alive libraries login_timeout naming prompt secure socket_timeout transaction_isolation""",
    "clickhouse": """
        client_name compress connect_timeout connection_timeout database decompress socket_timeout ssl sslmode
        sslrootcert use_server_time_zone use_time_zone""",
    "exa": """
        clientname clientversion connecttimeout encryption fetchsize fingerprint querytimeout validateservercertificate
        """,
    "netezza": "caCertFile database loginTimeout readOnly securityLevel",
    "presto": """
        applicationNamePrefix clientInfo clientTags disableCompression httpProxy KerberosPrincipal
        KerberosRemoteServiceName KerberosServicePrincipalPattern KerberosUseCanonicalHostname socksProxy source SSL
        SSLTrustStorePath SSLTrustStoreType SSLVerification timeZoneId""",
    "redshift": """
        ApplicationName AutoCreate BlockingRowsMode ClusterID connectTimeout currentSchema
        databaseMetadataCurrentDbOnly DbGroups DbUser defaultRowFetchSize enableFetchRingBuffer fetchRingBufferSize
        IAM loginTimeout Profile ReadOnly Region reWriteBatchedInserts reWriteBatchedInsertsSize socketTimeout ssl
        sslmode sslrootcert tcpKeepAlive TCPKeepAliveMinutes""",
    "sap": """
        communicationTimeout connectTimeout currentSchema databaseName encrypt hostNameInCertificate locale reconnect
        trustStore trustStoreType validateCertificate""",
    "snowflake": """
        account application authenticator client_session_keep_alive CLIENT_MEMORY_LIMIT CLIENT_PREFETCH_THREADS
        CLIENT_RESULT_CHUNK_SIZE db loginTimeout networkTimeout ocspFailOpen private_key_file role ssl warehouse""",
    "sybase": "APPLICATIONNAME CHARSET DYNAMIC_PREPARE ENCRYPT_PASSWORD HOSTNAME JCONNECT_VERSION SERVICENAME",
    "teradata": """
        ACCOUNT CHARSET CLIENT_CHARSET CONNECT_TIMEOUT COP COPLAST DATABASE DBS_PORT ENCRYPTDATA HTTPS_PORT
        LOB_SUPPORT LOGMECH LOGON_TIMEOUT PARTITION PREP_SUPPORT SESSIONS SSLCA SSLCAPATH SSLMODE STRICT_NAMES TCP
        TMODE TYPE""",
    "vertica": """
        BackupServerNode ConnectionLoadBalance DirectBatchInsert Label Locale loginNetworkTimeout LoginTimeout
        networkTimeout ReadOnly ResultBufferSize TLSmode TrustStorePath""",
}
_PROPERTIES = {**_PROPERTIES, "trino": _PROPERTIES["presto"]}
DATABASES = tuple(sorted(_PROPERTIES))
"""Databases that are servers. Others run inside the job, or hand the URL on to any driver that there is."""
EVERY = "*"

_DATABASE_OF_URL = re.compile(r"jdbc:([^:]*):", re.IGNORECASE)
_IN_URL = re.compile(r"[?&;(,:/#]\s*([^=?&;(),:/#]+)=")
# Oracle's driver fetches all its properties from the address that follows.
_FETCHED_PROPERTIES = re.compile(r"@\s*(config-\w*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RefusedProperty:
    """A property that is not listed: the option that has it, its own name, and the properties that are."""

    option: str
    name: str
    database: str | None
    allowed: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return what is refused."""
        what = f"option '{self.option}' is refused"
        if _normalise(self.option) == "url":
            what = f"the url's property '{self.name}' is refused"
        return f"{what}: it is not one of the connection properties that are known to do nothing else"

    @property
    def hint(self) -> str:
        """Return what may be written instead."""
        which = f"of {self.database} " if self.database is not None else ""
        allowed = f"allowed are {', '.join(self.allowed)}" if self.allowed else "none is allowed"
        return (
            f"{allowed}; an administrator can allow other properties {which}"
            f"in the environment variable {ENVIRONMENT_VARIABLE}"
        )


def find_refused_properties(
    options: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[RefusedProperty]:
    """Return the properties of a JDBC place's options, and of its URL, that are not allowed."""
    url = next((value for name, value in options.items() if _normalise(name) == "url"), None)
    database = find_database(url) if url is not None else None
    allowed = list_allowed(database)
    known = {name.lower() for name in (*_SPARK_OPTIONS.split(), *allowed)} | read_permitted(database, environment)
    if EVERY in known:
        return
    for option, value in options.items():
        name = _normalise(option)
        names = _list_url_properties(value) if name == "url" else [option.strip()]
        for found in names:
            if _normalise(found) not in known:
                yield RefusedProperty(option, found, database, allowed)


def is_permitted(options: Mapping[str, str], name: str, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether an administrator allows this option for the database of these options, or something in its URL."""
    url = next((value for option, value in options.items() if _normalise(option) == "url"), None)
    permitted = read_permitted(find_database(url) if url is not None else None, environment)
    names = _list_url_properties(url or "") if _normalise(name) == "url" else [name]
    return EVERY in permitted or not permitted.isdisjoint(map(_normalise, names))


def find_database(url: str) -> str | None:
    """Return the kind of database of a JDBC URL: the word after `jdbc:`."""
    match = _DATABASE_OF_URL.match(url.strip())
    return match[1].lower() if match else None


def list_allowed(database: str | None) -> tuple[str, ...]:
    """Return the properties of a kind of database, of all of them where it is not known."""
    texts = _PROPERTIES.values() if database is None else [_PROPERTIES.get(database, "")]
    return tuple(sorted({name for text in texts for name in text.split()}, key=str.lower))


def read_permitted(database: str | None, environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return what an administrator allows, in small letters."""
    text = (os.environ if environment is None else environment).get(ENVIRONMENT_VARIABLE, "")
    permitted: set[str] = set()
    for part in text.split(";"):
        kind, _, names = part.partition(":")
        if database is None or kind.strip().lower() == database:
            permitted.update(_normalise(name) for name in names.split(",") if name.strip())
    return frozenset(permitted)


def _list_url_properties(url: str) -> list[str]:
    """Return the names in a URL, also as drivers see them that decode `%65` before they compare."""
    texts = dict.fromkeys((url, unquote(url)))
    names = [name for text in texts for pattern in (_IN_URL, _FETCHED_PROPERTIES) for name in pattern.findall(text)]
    # Some drivers take a name alone for "true".
    names += [unquote(part) for part in url.partition("?")[2].split("&") if part.strip() and "=" not in part]
    return list(dict.fromkeys(name.strip("{} \t\r\n") for name in names))


def _normalise(name: str) -> str:
    """Small letters, and `_` for the blanks that the names of some drivers have."""
    return name.strip("{} \t\r\n").lower().replace(" ", "_")
