"""Who may see and do what: always asked of Airflow's auth manager; what it cannot answer is refused."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user
from airflow.configuration import conf
from fastapi import Depends, Header, HTTPException, Request

User = Annotated[BaseUser, Depends(get_user)]
Method = Literal["GET", "PUT"]


def list_readable(user: BaseUser) -> set[str]:
    """Return the DAGs that somebody may see."""
    return set(get_auth_manager().get_authorized_dag_ids(user=user, method="GET"))


def may_edit(user: BaseUser, dag_id: str) -> bool:
    """Return whether somebody may act on a DAG."""
    return _is_allowed(user, dag_id, "PUT")


def require_read(dag_id: str, user: User) -> BaseUser:
    """Admit users who may see the DAG in the path."""
    if not _is_allowed(user, dag_id, "GET"):
        raise HTTPException(403, "not allowed to read this DAG")
    return user


def require_edit(
    dag_id: str,
    request: Request,
    user: User,
    origin: Annotated[str | None, Header()] = None,
    content_type: Annotated[str | None, Header()] = None,
) -> BaseUser:
    """Admit users who may edit the DAG in the path, with JSON that a page of this server has sent."""
    if not _is_allowed(user, dag_id, "GET") or not may_edit(user, dag_id):
        raise HTTPException(403, "not allowed to edit this DAG")
    if origin is None or origin not in _list_own_origins(request):
        raise HTTPException(403, "only pages of this Airflow may act")
    if (content_type or "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "only JSON is accepted")
    return user


Reader = Annotated[BaseUser, Depends(require_read)]
Editor = Annotated[BaseUser, Depends(require_edit)]


def _is_allowed(user: BaseUser, dag_id: str, method: Method) -> bool:
    # Some auth managers let everybody with a role see DAGs that do not exist: the list has only those that do.
    if dag_id not in list_readable(user):
        return False
    entity = None if method == "GET" else DagAccessEntity.RUN
    return bool(
        get_auth_manager().is_authorized_dag(
            method=method, access_entity=entity, details=DagDetails(id=dag_id), user=user
        )
    )


def _list_own_origins(request: Request) -> set[str]:
    base = urlsplit(conf.get("api", "base_url", fallback=""))
    configured = {f"{base.scheme}://{base.netloc}"} if base.netloc else set()
    return {f"{request.url.scheme}://{request.headers.get('host', '')}", *configured}
