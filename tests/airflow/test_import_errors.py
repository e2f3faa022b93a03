"""A catalog with mistakes: one import error for each YAML file, and DAGs for all other projects."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from airflow.dag_processing.dagbag import BundleDagBag, DagBag
from airflow.dag_processing.processor import DagFileParseRequest, _parse_file

pytestmark = pytest.mark.airflow

DAG_FILE = """
from airflow_provider_runtime.dag_factory import project_dags
globals().update(project_dags("catalog"))
"""
PROJECT = """
project:
  id: {id}
  name: {id}
  version: 1
  input_dataset_id: ledger
  operations: [{{seq: 10, name: all, type: delete}}]
  airflow: {airflow}
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    catalog = tmp_path / "dags" / "catalog"
    catalog.mkdir(parents=True)
    (tmp_path / "dags" / "projects.py").write_text(DAG_FILE)
    (catalog / "good.yaml").write_text(PROJECT.format(id="good", airflow="{}"))
    (catalog / "late.yaml").write_text(PROJECT.format(id="late", airflow="{schedule: sometimes}"))
    (catalog / "lost.yaml").write_text(
        PROJECT.format(id="lost", airflow="{}").replace("  name", "  level: weak\n  name")
    )
    (catalog / "not_yaml.yaml").write_text("project: {id: x\n")
    (catalog / "dangling.yaml").symlink_to(tmp_path / "nothing")
    return tmp_path / "dags"


EXPECTED = {
    "catalog/late.yaml": ("CATALOG_002", "late.yaml:8:", "sometimes", "hint: write after_period"),
    "catalog/lost.yaml": ("CATALOG_004", "lost.yaml:4:", "weak", "hint: "),
    "catalog/not_yaml.yaml": ("CATALOG_001", "not_yaml.yaml:1:", "hint: "),
    "catalog/dangling.yaml": ("CATALOG_001", "dangling.yaml:1:", "hint: "),
}


def check_errors(errors: dict[str, str]) -> None:
    assert set(errors) == set(EXPECTED)
    for name, texts in EXPECTED.items():
        for text in texts:
            assert text in errors[name]
        assert "Traceback" not in errors[name]


def test_files_with_mistakes_are_import_errors_and_the_others_have_dags(bundle: Path) -> None:
    bag = BundleDagBag(dag_folder=str(bundle), bundle_path=bundle, bundle_name="books")

    assert set(bag.dags) == {"good"}
    check_errors(bag.import_errors)


def test_dag_bag_without_a_bundle_names_files_in_full(bundle: Path) -> None:
    bag = DagBag(dag_folder=str(bundle / "projects.py"))

    assert set(bag.dags) == {"good"}
    check_errors({str(Path(name).relative_to(bundle)): text for name, text in bag.import_errors.items()})


def test_dag_processor_sends_dags_and_errors_of_one_file(bundle: Path) -> None:
    request = DagFileParseRequest(
        file=str(bundle / "projects.py"), bundle_path=bundle, bundle_name="books", callback_requests=[]
    )
    result = _parse_file(request, structlog.get_logger())

    assert result is not None
    assert [dag.dag_id for dag in result.serialized_dags] == ["good"]
    check_errors(result.import_errors or {})


def test_single_project_with_a_mistake_shows_place_and_hint(bundle: Path) -> None:
    text = DAG_FILE.replace("project_dags", "project_dag").replace('globals().update(project_dag("catalog"))', "")
    (bundle / "projects.py").write_text(text + 'dag = project_dag("late", "catalog")\n')
    bag = BundleDagBag(dag_folder=str(bundle), bundle_path=bundle, bundle_name="books")

    assert set(bag.import_errors) == {"projects.py"}
    for part in EXPECTED["catalog/late.yaml"]:
        assert part in bag.import_errors["projects.py"]
