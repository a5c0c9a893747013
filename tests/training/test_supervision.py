"""tfrun as a process: what it refuses, what it passes on, and what it does as process 1 of a container."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.training.pods import Net, wait_for
from tests.training.subject import TRAINING, tfrun

TFRUN = [sys.executable, str(TRAINING / "tfrun.py")]
BARE = {"PATH": os.environ["PATH"]}


def start(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """tfrun to its end, with nothing in the environment but what is given."""
    return subprocess.run([*TFRUN, *command], env={**BARE, **env}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("env", "fault"),
    [
        ({"TF_NUM_WORKERS": "abc"}, "TF_NUM_WORKERS='abc' must be a whole number from 1 to 5000"),
        ({"TF_NUM_WORKERS": "0"}, "TF_NUM_WORKERS='0' must be a whole number from 1 to 5000"),
        ({"TF_NUM_WORKERS": ""}, "TF_NUM_WORKERS='' must be a whole number from 1 to 5000"),
        ({"TF_WORKER_PORT": "70000"}, "TF_WORKER_PORT='70000' must be a whole number from 1 to 65535"),
        ({"TF_WORKER_PORT": "65535"}, "TFRUN_PORT must be a port other than TF_WORKER_PORT=65535"),
        ({"TFRUN_PORT": "12345"}, "TFRUN_PORT must be a port other than TF_WORKER_PORT=12345"),
        ({"TF_DISCOVERY_TIMEOUT": "1h"}, "TF_DISCOVERY_TIMEOUT='1h' must be a whole number from 1 to 604800"),
        ({"TFRUN_ATTEMPT": "-1"}, "TFRUN_ATTEMPT='-1' must be a whole number from 0 to 1000000"),
        ({"TFRUN_NAMESPACE": "A b"}, "TFRUN_NAMESPACE='A b' is not a namespace's name"),
        (
            {"TF_NUM_WORKERS": "x", "TFRUN_ATTEMPT": "y"},
            "TF_NUM_WORKERS='x' must be a whole number from 1 to 5000; TFRUN_ATTEMPT='y' must be a whole number from 0 to 1000000",
        ),
    ],
)
def test_a_bad_value_is_one_line_and_nothing_starts(env: dict[str, str], fault: str) -> None:
    done = start("--", "echo", "started", **env)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tfrun: error: {fault}\n")


def test_several_workers_need_a_workers_hostname() -> None:
    done = start("--", "echo", "started", TF_NUM_WORKERS="2")
    assert done.returncode == 2
    assert done.stderr == (
        f"tfrun: error: TF_NUM_WORKERS=2, but the hostname {socket.gethostname()!r} is not JOB-node-0-INDEX: which worker is this?\n"
    )


def test_outside_a_pod_it_trains_alone_and_says_so() -> None:
    done = start("--", "sh", "-c", "echo ${TF_CONFIG-none} $TF_NUM_WORKERS $TFRUN_JOB", TF_CONFIG="left over")
    assert (done.returncode, done.stdout) == (0, "none 1 local\n")
    assert "training alone, without TF_CONFIG" in done.stderr


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_status_is_the_commands(script: str, status: int) -> None:
    assert start("sh", "-c", script).returncode == status


def test_what_cannot_be_run_has_the_shells_statuses() -> None:
    assert start("no-such-command").returncode == 127
    assert start("/etc").returncode == 127
    assert start().returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number: int, tmp_path: Path) -> None:
    script = "import signal,sys,time; signal.signal(int(sys.argv[1]), lambda *_: sys.exit(5)); print('ready', flush=True); time.sleep(60)"
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen([*TFRUN, "--", sys.executable, "-c", script, str(int(number))], env=BARE, stdout=out)
    wait_for(lambda: "ready" in log.read_text(), "the command")
    process.send_signal(number)
    assert process.wait(30) == 5


def place(hostname: str, tmp_path: Path, hosts: str = "", resolv: str = "", **env: str) -> Any:
    (tmp_path / "hosts").write_text(hosts)
    (tmp_path / "resolv.conf").write_text(resolv)
    return tfrun.Place.find(tfrun.Settings.read(env), hostname, tmp_path)


def test_a_worker_is_known_by_hosts_and_resolv_conf(tmp_path: Path) -> None:
    """As kubelet writes them, with a subdomain that is not the job's name."""
    found = place(
        "my-node-0-run-node-0-3",
        tmp_path,
        hosts="127.0.0.1 localhost\n10.0.0.7\tmy-node-0-run-node-0-3.sub.team.svc.example.org\tmy-node-0-run-node-0-3\n",
        resolv="search other.svc.wrong svc.wrong wrong\nnameserver 10.96.0.10\n",
    )
    assert found == tfrun.Place(job="my-node-0-run", index=3, subdomain="sub", namespace="team", domain="example.org", port=12345)
    assert found.peer(1) == "my-node-0-run-node-0-1.sub.team.svc.example.org:12345"


def test_without_a_line_in_hosts_the_search_list_is_read(tmp_path: Path) -> None:
    found = place("job-node-0-0", tmp_path, resolv="search team.svc.corp.local svc.corp.local corp.local\n", TF_WORKER_PORT="2222")
    assert found.peer(1) == "job-node-0-1.job.team.svc.corp.local:2222"


@pytest.mark.parametrize(
    ("hostname", "env", "fault"),
    [
        ("job-node-1-0", {}, "hostname 'job-node-1-0': replicatedJob node must have replicas: 1, this is replica 1"),
        ("job-node-0-2", {"JOB_COMPLETION_INDEX": "1"}, "JOB_COMPLETION_INDEX=1, but hostname 'job-node-0-2' says 2"),
        ("job-node-0-2", {"TF_NUM_WORKERS": "2"}, "hostname 'job-node-0-2' is worker 2, but TF_NUM_WORKERS=2"),
        (
            "gpu-7",
            {"JOB_COMPLETION_INDEX": "1"},
            "this is a pod of a Job, but its hostname 'gpu-7' is not JOB-node-0-INDEX: hostNetwork, or another replicatedJob? "
            "Set TF_NUM_WORKERS=1 to train alone",
        ),
        ("job-node-0-0", {}, "the namespace is not known: set TFRUN_NAMESPACE (fieldRef metadata.namespace)"),
    ],
)
def test_a_contradiction_is_a_bad_value(hostname: str, env: dict[str, str], fault: str, tmp_path: Path) -> None:
    with pytest.raises(tfrun.BadValue) as raised:
        place(hostname, tmp_path, **env)
    assert str(raised.value) == fault


@pytest.mark.parametrize(
    ("version", "installed", "several", "env", "result"),
    [
        ("2.15.1", False, True, {}, {}),
        ("2.15.0+nv24.03", False, True, {}, {}),
        ("2.21.0", True, True, {}, {"TF_USE_LEGACY_KERAS": "1"}),
        ("2.21.0", True, False, {}, {"TF_USE_LEGACY_KERAS": "1"}),
        ("2.21.0", False, False, {}, {}),
        ("2.21.0", False, True, {"TF_USE_LEGACY_KERAS": "0"}, {}),
        ("", False, True, {}, {}),
        (
            "2.21.0",
            False,
            True,
            {},
            "TensorFlow 2.21.0 brings Keras 3, whose fit() fails on several workers: install tf_keras==2.21.* in the image, "
            "or set TF_USE_LEGACY_KERAS=0 for a loop of your own",
        ),
        (
            "2.15.1",
            False,
            True,
            {"TF_USE_LEGACY_KERAS": "1"},
            "TF_USE_LEGACY_KERAS=1, but tf_keras is not installed beside TensorFlow 2.15.1",
        ),
    ],
)
def test_keras(version: str, installed: bool, several: bool, env: dict[str, str], result: dict[str, str] | str) -> None:
    if isinstance(result, dict):
        assert tfrun.keras_environment(version, installed, several, env) == result
        return
    with pytest.raises(tfrun.BadValue) as raised:
        tfrun.keras_environment(version, installed, several, env)
    assert str(raised.value) == result


def test_a_fallback_of_nccl_is_named_once() -> None:
    script = "echo 'h:1:2 [0] NCCL INFO NET/IB : No device found.'; echo 'h:1:2 [0] NCCL INFO Using network Socket'; echo 'plain'; exit 3"
    done = start("--", "sh", "-c", script, NCCL_DEBUG="INFO", NCCL_IB_DISABLE="0")
    assert done.returncode == 3 and done.stdout.endswith("plain\n")
    assert done.stderr.count("InfiniBand is wanted (NCCL_IB_DISABLE=0), but NCCL uses NET/Socket") == 1


@pytest.mark.parametrize(
    ("env", "line", "told"),
    [
        ({"NCCL_IB_DISABLE": "1"}, "NCCL INFO Using network Socket", []),
        ({"NCCL_IB_DISABLE": "0"}, "NCCL INFO Using network IB", []),
        ({}, "NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0", []),
        ({}, "NCCL INFO comm 0x5 rank 0 nranks 8 cudaDev 0", ["NCCL made a communicator of 8 ranks, this job has 16 replicas"]),
    ],
)
def test_what_nccl_says(env: dict[str, str], line: str, told: list[str]) -> None:
    said: list[str] = []
    tfrun.NcclWatch(env, 16, said.append).line(f"h:1:2 [0] {line}")
    assert said == told


@pytest.mark.parametrize(
    ("codes", "exists"),
    [
        ([tfrun.NXDOMAIN], [False]),
        ([0], [True]),
        ([5], [True]),  # refused: the plain look-up decides
        ([tfrun.SERVFAIL, tfrun.NXDOMAIN, 0], [False, False, True]),
        ([None, tfrun.NXDOMAIN], [False, False]),  # a lost packet
        ([tfrun.SERVFAIL] * 6, [False] * 5 + [True]),
    ],
)
def test_a_plain_look_up_follows_only_when_it_does_no_harm(codes: list[int | None], exists: list[bool]) -> None:
    """What a name server answers to the question whether a name exists."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            for code in codes:
                query, client = server.recvfrom(512)
                if code is not None:
                    server.sendto(query[:2] + bytes([0x81, 0x80 | code]) + query[4:], client)

        threading.Thread(target=serve, daemon=True).start()
        dns = tfrun.Dns(1, ["127.0.0.1"], server.getsockname()[1])

        async def ask() -> list[bool]:
            return [await dns.exists("job-node-0-0.job.ns.svc.cluster.local") for _ in codes]

        assert asyncio.run(ask()) == exists


# --- in pods with real names --------------------------------------------------------------------------------------

SHOW = ["--", sys.executable, "-c", "import os; print('CONFIG', os.environ['TF_CONFIG'], os.environ['TFRUN_JOB'], flush=True)"]


def configs(net: Net) -> list[dict[str, object]]:
    """The TF_CONFIG with which each pod started."""
    lines = [line for pod in net.pods for line in pod.text().splitlines() if line.startswith("CONFIG")]
    return [json.loads(line.split(" ", 1)[1].rsplit(" ", 1)[0]) for line in lines]


def test_four_pods_agree_by_coredns(net: Net) -> None:
    """They come in an inconvenient order: worker 0 last, its name asked for before it exists."""
    env = {**BARE, "TF_NUM_WORKERS": "4", "TFRUN_JOB_UID": "u", "TFRUN_ATTEMPT": "0", "TF_DISCOVERY_TIMEOUT": "120"}
    for index in (3, 1, 2):
        net.pod(f"job-node-0-{index}", [*TFRUN, *SHOW], env)
    net.pods[0].sees("job-node-0-0.job.ns.svc.cluster.local is not in DNS")
    net.pod("job-node-0-0", [*TFRUN, *SHOW], env)
    assert [pod.wait() for pod in net.pods] == [0, 0, 0, 0]
    names = [f"job-node-0-{index}.job.ns.svc.cluster.local:12345" for index in range(4)]
    assert [config["cluster"] for config in configs(net)] == [{"worker": names}] * 4
    assert [config["task"] for config in configs(net)] == [{"type": "worker", "index": index} for index in (3, 1, 2, 0)]


def test_a_second_pod_of_an_index_ends_also_after_the_start(net: Net) -> None:
    env = {**BARE, "TF_NUM_WORKERS": "2"}
    for index in (0, 1):
        net.pod(f"job-node-0-{index}", [*TFRUN, "--", "sh", "-c", "echo started; sleep 600"], env)
    for pod in net.pods:
        pod.sees("started")
    again = net.pod("job-node-0-1", [*TFRUN, *SHOW], env, publish=False)
    assert again.wait() == 81
    assert "tfrun: error: worker 0 refuses: index 1 is taken by another process: 2 workers have started" in again.text()


def test_a_missing_worker_ends_all_with_one_line(net: Net) -> None:
    env = {**BARE, "TF_NUM_WORKERS": "3", "TF_DISCOVERY_TIMEOUT": "8"}
    for index in (0, 1):
        net.pod(f"job-node-0-{index}", [*TFRUN, *SHOW], env)
    assert [pod.wait() for pod in net.pods] == [81, 81]
    for pod in net.pods:
        assert "2 of 3 workers, waiting for index 2" in pod.text()


def test_process_1_heeds_sigterm_while_it_waits_and_reaps(net: Net) -> None:
    waiting = net.pod("job-node-0-1", [*TFRUN, *SHOW], {**BARE, "TF_NUM_WORKERS": "2"})
    waiting.sees("is not in DNS")
    waiting.send(signal.SIGTERM)
    assert waiting.wait() == 143
    # The shell leaves children behind, which become process 1's and end before the command does.
    script = "for i in 1 2 3; do (sleep 0.2 &) ; done; sleep 1; grep -c ^State:.Z /proc/[0-9]*/status | grep -vc :0$; exit 9"
    parent = net.pod("job-node-0-0", [*TFRUN, "--", "sh", "-c", script], {**BARE, "TF_NUM_WORKERS": "1"})
    assert parent.wait() == 9
    assert parent.text().splitlines()[-1] == "0"  # zombies


def test_only_the_address_of_its_own_name_is_listened_on(net: Net) -> None:
    pod = net.pod("job-node-0-0", [*TFRUN, *SHOW], {**BARE, "TF_NUM_WORKERS": "2"})
    pod.sees("1 of 2 workers, waiting for index 1")
    table = Path(f"/proc/{pod.first()}/net/tcp").read_text().splitlines()[1:]
    listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    ours = socket.inet_aton(pod.address)[::-1].hex().upper()
    assert listening == [f"{ours}:{12346:04X}"]


def test_doctor_says_what_it_sees(net: Net) -> None:
    env = {**BARE, "TF_NUM_WORKERS": "2"}
    net.pod("job-node-0-0", [*TFRUN, *SHOW], env).sees("waiting for index 1")
    doctor = net.pod("job-node-0-1", [*TFRUN, "doctor"], env)
    assert doctor.wait() == 0
    text = doctor.text()
    assert f"worker 0: job-node-0-0.job.ns.svc.cluster.local:12345 -> {net.pods[0].address}" in text
    assert "worker 0 says:" in text and "'here': [0], 'workers': 2, 'started': False" in text
