"""What the pages of a project's DAG and of its task `run` say."""

from __future__ import annotations

from airflow_provider_runtime.dag_factory.outline import OperationOutline, ProjectOutline


def make_documentation(project: ProjectOutline) -> str:
    """Return the Markdown of a project's DAG page."""
    lines = [f"### {_escape(project.name)}, version {project.version}", ""]
    if project.description:
        lines += [project.description.strip(), ""]
    lines += [
        f"Runs for each {project.level} of the calendar `{project.calendar}`, on `{_escape(project.input_dataset)}`."
        f" Defined in `{_escape(project.file)}`, line {project.line}.",
        "",
        make_operations_table(project),
    ]
    if project.checks:
        lines += ["", make_checks_table(project)]
    if project.approvers:
        lines += ["", make_approval_documentation(project)]
    return "\n".join(lines)


def make_run_documentation(project: ProjectOutline) -> str:
    """Return the Markdown of the page of the task `run`."""
    checks = f"\n\n{make_checks_table(project)}" if project.checks else ""
    end = "stages the outputs for an approval" if project.approvers else "publishes the outputs together"
    return f"One Spark job does these operations, and {end}:\n\n{make_operations_table(project)}{checks}"


def make_approval_documentation(project: ProjectOutline) -> str:
    """Return the Markdown of the page of the task `approve`."""
    names = ", ".join(f"`{_escape(name)}`" for name in project.approvers)
    return (
        f"One of {names} decides whether what was staged is published, but not who ran it. The request shows what would"
        " change for readers, and what came of the checks. The answer is kept in the registry; a refusal discards."
    )


def make_operations_table(project: ProjectOutline) -> str:
    """Return a table of the operations."""
    head = ("| seq | operation | type | what it does |", "| ---: | --- | --- | --- |")
    return "\n".join([*head, *(_make_row(operation) for operation in project.operations)])


def make_checks_table(project: ProjectOutline) -> str:
    """Return a table of what must be true before anything is published."""
    head = ("| check | of output | what must be true | if not |", "| --- | ---: | --- | --- |")
    rows = [
        f"| {_escape(check.name)} | {check.output} | {_escape(check.detail)} |"
        f" {'nothing is published' if check.on_fail == 'block' else 'a warning'} |"
        for check in project.checks
    ]
    return "\n".join([*head, *rows])


def _make_row(operation: OperationOutline) -> str:
    text = operation.description or operation.detail
    return f"| {operation.seq} | {_escape(operation.name)} | {operation.type} | {_escape(text)} |"


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
