"""The sentences below the fields of the models, for JSON Schema and the reference in the docs."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from types import ModuleType

from pydantic import BaseModel


def describe_fields(model: type[BaseModel]) -> dict[str, str]:
    """Return the description of every field of a model, inherited ones included."""
    described: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, BaseModel) and owner is not BaseModel:
            module = inspect.getmodule(owner)
            if module is not None:
                described.update(_read_module(module).get(owner.__name__, {}))
    return described


@cache
def _read_module(module: ModuleType) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: _read_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _read_class(node: ast.ClassDef) -> dict[str, str]:
    """Return the text literal that follows each annotated field."""
    described: dict[str, str] = {}
    for field, following in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            described[field.target.id] = inspect.cleandoc(str(following.value.value))
    return described
