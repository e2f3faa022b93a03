"""The job's dataclasses and the plan's models describe one document."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_runtime.core.model import plan as models
from spark_jobs import snapshot as job

PAIRS = [
    (models.PlanColumn, job.Column),
    (models.PlanMark, job.Mark),
    (models.PlanLocation, job.Location),
    (models.PlanTemporal, job.Temporal),
    (models.PlanTable, job.Table),
    (models.PlanEquality, job.Equality),
    (models.PlanJoin, job.Join),
    (models.PlanExpression, job.Expression),
    (models.PlanUpdate, job.UpdateOperation),
    (models.PlanAggregate, job.AggregateOperation),
    (models.PlanAppend, job.AppendOperation),
    (models.PlanDelete, job.DeleteOperation),
    (models.PlanDestination, job.Destination),
    (models.PlanSlice, job.Slice),
    (models.PlanOutput, job.OutputOperation),
    (models.Plan, job.Plan),
]


@pytest.mark.parametrize(("model", "mirror"), PAIRS)
def test_fields_and_what_is_required_agree(model: type[models.Model], mirror: type) -> None:
    required = {name: field.is_required() for name, field in model.model_fields.items()}
    mirrored = {
        field.name: field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        for field in dataclasses.fields(mirror)
    }
    assert mirrored == required
