"""Fixtures of the training tests: the TensorFlow environments, pods with real names, digits as CIFAR-10."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training import environments
from tests.training.pods import Net, PodsUnavailable
from tests.training.subject import TRAINING

HERE = Path(__file__).resolve().parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tensorflow: runs real TensorFlow from an environment outside the checkout")


def unavailable(reason: str) -> None:
    """Skip with the reason, or fail where everything is required (CI)."""
    if os.environ.get("LAB") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", params=environments.VERSIONS)
def tensorflow(request: pytest.FixtureRequest) -> str:
    """The interpreter of a TensorFlow environment; a test that asks for it runs with each."""
    version = str(request.param)
    if not environments.is_ready(version) and os.environ.get("LAB") != "required":
        pytest.skip(f"TensorFlow {version} is not set up: python tests/training/environments.py")
    try:
        return str(environments.install(version))
    except environments.EnvironmentUnavailable as error:
        pytest.fail(str(error))


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Net]:
    """An empty network with CoreDNS."""
    try:
        made = Net(tmp_path)
    except PodsUnavailable as error:
        unavailable(str(error))
        raise
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """scikit-learn's digits in CIFAR-10's format."""
    ready = [version for version in environments.VERSIONS if environments.is_ready(version)]
    if not ready:
        unavailable("no TensorFlow environment with scikit-learn is set up")
    folder = tmp_path_factory.mktemp("digits")
    subprocess.run([environments.python(ready[0]), HERE / "digits.py", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def training() -> Path:
    """The folder that is /workspace/code in the pod."""
    return TRAINING
