"""The board's app: every route asks Airflow who is there and what they may do; there is no OpenAPI page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from airflow_provider_runtime.board import actions, decisions, evidence, matrix
from airflow_provider_runtime.board.access import Editor, Reader, User, list_readable, may_edit
from airflow_provider_runtime.board.body_limit import BodyLimit
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.rendering import problem_to_json

PREFIX = "/runtime-board"
BUNDLE = Path(__file__).parent / "static" / "board.js"

_WRITTEN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
"""No control characters, some of which databases refuse."""
Text = Annotated[str, Field(min_length=1, max_length=2_000, pattern=_WRITTEN)]
Name = Annotated[str, Query(min_length=1, max_length=500, pattern=_WRITTEN)]
RunId = Annotated[str, InPath(max_length=500, pattern=_WRITTEN)]
Choice = Annotated[str | None, Query(max_length=200)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class StatusBody(_Body):
    """A period's new status, and why."""

    status: Literal["open", "closed", "locked"]
    reason: Text


class OverrideBody(_Body):
    """A check that may fail, and why."""

    check: Text
    reason: Text


class DecisionBody(_Body):
    """What becomes of the rows that a run has staged, and why."""

    run_id: Text
    decision: Literal["approved", "refused"]
    reason: Text


router = APIRouter()


@router.get("/static/board.js")
def get_bundle(user: User) -> FileResponse:
    """Return the page's script."""
    del user
    return FileResponse(BUNDLE, media_type="text/javascript", headers={"Cache-Control": "no-cache"})


@router.get("/api/board")
def get_board(
    user: User, calendar: Choice = None, level: Choice = None, year: Choice = None, tag: Choice = None
) -> dict[str, Any]:
    """Return projects by periods, of all DAGs that the user may read."""
    wanted = matrix.Filter(calendar, level, year, tag)
    return matrix.make_board(list_readable(user), wanted, lambda dag_id: may_edit(user, dag_id))


@router.get("/api/dags/{dag_id}/board")
def get_board_of_dag(
    dag_id: str, user: Reader, calendar: Choice = None, level: Choice = None, year: Choice = None
) -> dict[str, Any]:
    """Return projects by periods of one DAG."""
    wanted = matrix.Filter(calendar, level, year, None)
    return matrix.make_board({dag_id}, wanted, lambda found: may_edit(user, found))


@router.get("/api/dags/{dag_id}/periods/{period}")
def get_evidence(dag_id: str, period: str, user: Reader, project: Choice = None) -> dict[str, Any]:
    """Return what is known of a period."""
    return evidence.make_evidence(dag_id, period, project, list_readable(user), may_edit=may_edit(user, dag_id))


@router.get("/api/dags/{dag_id}/runs/{run_id}")
def get_evidence_of_run(dag_id: str, run_id: RunId, user: Reader, project: Choice = None) -> dict[str, Any]:
    """Return what is known of the period of a DAG run."""
    return evidence.make_evidence_of_run(dag_id, run_id, project, list_readable(user), may_edit=may_edit(user, dag_id))


@router.get("/api/dags/{dag_id}/periods/{period}/evidence.html")
def get_evidence_file(dag_id: str, period: str, user: Reader, project: Choice = None) -> HTMLResponse:
    """Return the evidence as one file without scripts."""
    page = evidence.make_evidence_file(dag_id, period, project, list_readable(user))
    return HTMLResponse(page, headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"})


@router.get("/api/dags/{dag_id}/periods/{period}/snapshot.json")
def get_snapshot(dag_id: str, period: str, run_id: Name, user: Reader, project: Choice = None) -> Response:
    """Return the snapshot of a run, byte for byte."""
    del user
    content = evidence.read_snapshot(dag_id, period, project, run_id)
    return Response(content, media_type="application/json")


@router.get("/api/dags/{dag_id}/periods/{period}/report.json")
def get_report(dag_id: str, period: str, run_id: Name, user: Reader, project: Choice = None) -> dict[str, Any]:
    """Return the report of a run."""
    del user
    return evidence.read_report(dag_id, period, project, run_id)


@router.post("/api/dags/{dag_id}/periods/{period}/status")
def set_status(dag_id: str, period: str, body: StatusBody, user: Editor, project: Choice = None) -> dict[str, str]:
    """Open, close or lock a period."""
    return {"message": actions.set_status(dag_id, period, body.status, body.reason, user.get_name(), project)}


@router.post("/api/dags/{dag_id}/periods/{period}/overrides")
def override_check(
    dag_id: str, period: str, body: OverrideBody, user: Editor, project: Choice = None
) -> dict[str, str]:
    """Let a check fail for a period."""
    return {"message": actions.override_check(dag_id, period, body.check, body.reason, user.get_name(), project)}


@router.post("/api/dags/{dag_id}/periods/{period}/overrides/withdraw")
def withdraw_override(
    dag_id: str, period: str, body: OverrideBody, user: Editor, project: Choice = None
) -> dict[str, str]:
    """Take an override back."""
    return {"message": actions.withdraw_override(dag_id, period, body.check, body.reason, user.get_name(), project)}


@router.post("/api/dags/{dag_id}/periods/{period}/decisions")
def decide(dag_id: str, period: str, body: DecisionBody, user: Editor, project: Choice = None) -> dict[str, Any]:
    """Approve or refuse what a run has staged."""
    return decisions.decide(dag_id, period, body.run_id, body.decision, body.reason, user, project)


def make_app() -> FastAPI:
    """Return the app that Airflow mounts."""
    app = FastAPI(title="airflow-runtime board", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(RuntimeProviderError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_mistake)
    app.add_middleware(BodyLimit)
    app.include_router(router)
    return app


def _answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer in the words of the command line: what is wrong, and what to do."""
    del request
    assert isinstance(error, RuntimeProviderError)
    shown = [
        f"{problem.code}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for problem in error.problems[:8]
    ]
    status = 503 if error.retryable else 409
    return JSONResponse(
        {"detail": "\n".join(shown), "errors": [problem_to_json(p) for p in error.problems[:8]]}, status
    )


def _answer_mistake(request: Request, error: Exception) -> JSONResponse:
    """Tell what is wrong with a request, without what was sent: not all of that can be sent back."""
    del request
    assert isinstance(error, RequestValidationError)
    found = [": ".join([*map(str, entry["loc"][1:]), entry["msg"]]) for entry in error.errors()[:8]]
    return JSONResponse({"detail": "\n".join(found).encode(errors="replace").decode()}, 422)
