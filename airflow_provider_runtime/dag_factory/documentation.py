"""What a project's DAG page says: description, a table of the operations, and a picture of the flow."""

from __future__ import annotations

from airflow_provider_runtime.dag_factory.outline import OperationOutline, ProjectOutline

_MOST_NODES = 40


def make_documentation(project: ProjectOutline) -> str:
    """Return the Markdown of a project's DAG page."""
    lines = [f"### {_escape(project.name)}, version {project.version}", ""]
    if project.description:
        lines += [project.description.strip(), ""]
    lines += [
        f"Runs for each {project.level} of the calendar `{project.calendar}`, on `{_escape(project.input_dataset)}`."
        f" Defined in `{_escape(project.file)}`, line {project.line}.",
        "",
        "| seq | operation | type | what it does |",
        "| ---: | --- | --- | --- |",
        *(_make_row(operation) for operation in project.operations),
        "",
        *_draw(project),
    ]
    return "\n".join(lines)


def _make_row(operation: OperationOutline) -> str:
    text = operation.description or operation.detail
    return f"| {operation.seq} | {_escape(operation.name)} | {operation.type} | {_escape(text)} |"


def _draw(project: ProjectOutline) -> list[str]:
    shown = project.operations[:_MOST_NODES]
    lines = ["```mermaid", "flowchart LR", f"  input[({_quote(project.input_dataset)})]"]
    previous = "input"
    for operation in shown:
        node = f"o{operation.seq}"
        label = _quote(f"{operation.seq} {operation.name}")
        if operation.type == "output":
            lines += [f"  {node}[/{label}/]", f"  {previous} --> {node}"]
            if operation.registers:
                lines.append(f"  {node} --> r{operation.seq}[({_quote(operation.registers)})]")
            continue
        lines += [f"  {node}[{label}]", f"  {previous} --> {node}"]
        lines += [f"  {node}s{i}[({_quote(ref)})] --> {node}" for i, ref in enumerate(operation.reads)]
        previous = node
    if len(project.operations) > len(shown):
        lines.append(f"  {previous} --> more[{_quote(f'{len(project.operations) - len(shown)} more')}]")
    return [*lines, "```"]


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _quote(text: str) -> str:
    cleaned = " ".join(text.split()).replace('"', "#quot;").replace("<", "#lt;")
    return f'"{cleaned}"'
