"""The process that submitted a job: running, gone, suspended, or another of the same number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from spark_jobs.errors import JobError
from spark_jobs.submitter import SUBMITTER_VARIABLE, describe_process, require_submitter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what other processes do is seen on Linux only")


@pytest.fixture
def submitter(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        monkeypatch.setenv(SUBMITTER_VARIABLE, describe_process(process.pid) or "")
        yield process
        process.kill()


def test_job_goes_on_while_its_submitter_runs(submitter: subprocess.Popen[bytes]) -> None:
    require_submitter()


@pytest.mark.parametrize("is_cleared_away", [True, False])
def test_job_of_a_process_that_was_killed_is_refused(submitter: subprocess.Popen[bytes], is_cleared_away: bool) -> None:
    submitter.kill()
    if is_cleared_away:
        submitter.wait()
    else:
        os.waitid(os.P_PID, submitter.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(JobError, match=f"INFRA_001: the process {submitter.pid} that submitted this job has ended"):
        require_submitter()


def test_job_of_a_suspended_process_is_refused_until_it_continues(submitter: subprocess.Popen[bytes]) -> None:
    submitter.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, submitter.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(JobError, match="is suspended"):
        require_submitter()
    submitter.send_signal(signal.SIGCONT)
    os.waitid(os.P_PID, submitter.pid, os.WCONTINUED)
    require_submitter()


def test_later_process_of_the_same_number_is_not_the_submitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUBMITTER_VARIABLE, f"{os.getpid()}:1")
    with pytest.raises(JobError, match="has ended"):
        require_submitter()


def test_job_that_does_not_know_its_submitter_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUBMITTER_VARIABLE, raising=False)
    require_submitter()
