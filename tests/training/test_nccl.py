"""Which interface the real NCCL takes in a pod, and what the gate says of the same values. NCCL asks for a GPU only later."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gate import render
from gate.evaluate import Evaluator
from tests.conftest import ROOT
from tests.lab.live import Manifest
from tests.lab.test_gate_and_cluster import findings
from tests.training.pods import Net

pytestmark = pytest.mark.long  # it fetches NCCL
PLAIN = ("eth0", "eth", "ens,eth", "=eth0", "=ens3,eth0", "eth0:0", "=eth0:99", "ens3", "=eth", "=ens3,ib0", "ens,ib")
LEFT_OUT = ("^lo", "^lo,docker", "^docker0,lo", "^=lo", "^=lo,eth", "^docker0", "^=docker0", "^eth", "^lo,eth", "^=lo,eth0", "^=eth0")
VALUES = (*PLAIN, *LEFT_OUT, "lo", "=lo", "eth0,lo", "l", "=l")
FOUND = """
import ctypes, glob, json, os, subprocess, sys
import nvidia
if len(sys.argv) > 1:  # NCCL looks once in a process
    known = ctypes.create_string_buffer(128)
    [library] = glob.glob(os.path.join([*nvidia.__path__][0], "nccl/lib/libnccl.so.*"))
    sys.exit(ctypes.CDLL(library).ncclGetUniqueId(known))
for value in json.loads(os.environ["VALUES"]):
    found = subprocess.run(
        [sys.executable, __file__, "once"], env=os.environ | {"NCCL_SOCKET_IFNAME": value, "NCCL_DEBUG": "INFO"}, capture_output=True, text=True
    )
    print(json.dumps([value, found.returncode, found.stdout + found.stderr]), flush=True)
"""


@pytest.fixture(scope="module")
def nccl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with NCCL's wheel installed."""
    folder = tmp_path_factory.mktemp("nccl")
    uv = Path(sys.executable).parent / "uv"
    words = ["pip", "install", "--quiet", f"--python={sys.executable}", "--require-hashes", f"--target={folder}"]
    subprocess.run([uv, *words, f"--requirements={ROOT / 'tests/training/nccl.lock'}"], check=True, timeout=900)
    return folder


def test_the_gate_judges_an_interface_as_nccl_takes_it(nccl: Path, net: Net, tmp_path: Path, opa: Evaluator) -> None:
    program = tmp_path / "found.py"
    program.write_text(FOUND, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(nccl), "VALUES": json.dumps(VALUES)}
    pod = net.pod("worker", [sys.executable, str(program)], environment)
    assert pod.wait() == 0, pod.text()
    taken = {value: told(status, said) for value, status, said in map(json.loads, pod.text().splitlines())}
    assert {*taken.values()} == {"eth0", "lo", "none"}

    (runtime,) = render.build(ROOT / "overlays/no-ib-kueue/runtime")
    objects = [with_interface(runtime, f"value-{number}", value) for number, value in enumerate(VALUES)]
    said = [each for each in findings(objects, tmp_path / "runtimes.yaml", opa) if each.rule == "network/interface"]
    words = {each.resource.name: each.message for each in said if each.resource}
    assert {value: judged(words.get(f"value-{number}", "")) for number, value in enumerate(VALUES)} == taken


def told(status: int, said: str) -> str:
    """The interface that NCCL has taken, or `none`."""
    if status and "no socket interface found" in said:
        return "none"
    assert status == 0, said
    (found,) = re.findall(r"Bootstrap ?: Using ([^:]+):", said)
    return str(found)


def judged(said: str) -> str:
    """The same by what the gate says; without a word it is the pods' own."""
    return "none" if "NCCL finds no interface" in said else "lo" if "NCCL takes lo" in said else "eth0"


def with_interface(runtime: Manifest, name: str, value: str) -> Manifest:
    """The runtime under another name, with this NCCL_SOCKET_IFNAME."""
    made: Manifest = json.loads(json.dumps(runtime))
    made["metadata"]["name"] = name
    (container,) = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    (variable,) = (each for each in container["env"] if each["name"] == "NCCL_SOCKET_IFNAME")
    variable["value"] = value
    return made
