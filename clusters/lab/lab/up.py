"""The lab up and down."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import shutil
import sys
import xmlrpc.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from supervisor.xmlrpc import SupervisorTransport

from gate import process, tools
from gate.model import GateError
from lab import binaries, doctor, gitops, images, space, system
from lab.model import GATEWAY, HERE, NODE, Lab, LabError, documents, facts
from lab.wait import until

CHECKOUT = "checkout"  # a file of the state folder: whose lab it is


def up(lab: Lab, console: Console, *, deploy: bool = True, push: bool = True) -> None:
    """Everything running, whatever was there before; the cluster's folders deployed by Argo CD from a push, or applied without one.

    Without `deploy` a bare Kubernetes.
    """
    _ready_to_start(lab)
    clear(console)
    tools.setup(console)
    binaries.build(console)
    digits = images.digits(console)
    images.bases(console)
    with _alone(lab):
        if not _is_running(lab):
            space.end(lab)
            _start(lab, console, digits)
        _control_plane(lab, console)
        if deploy:
            _deploy(lab, console, push=push)


def down(lab: Lab) -> bool:
    """Nothing running. True if there was something."""
    with _alone(lab):
        ran = space.end(lab)
        lab.kubeconfig.unlink(missing_ok=True)
        return ran


def clear(console: Console) -> None:
    """Ends and removes the labs of checkouts that are gone, which nobody would come back to: each holds gigabytes of images."""
    for file in sorted(tools.cache().glob(f"lab/*/{CHECKOUT}")):
        other = Lab(root=Path(file.read_text(encoding="utf-8")))
        if other.root.exists() or other.state != file.parent:
            continue
        with contextlib.suppress(LabError):  # somebody else is at it
            down(other)
            shutil.rmtree(other.state)
            console.print(f"removed the lab of {other.root}, which is gone", highlight=False, markup=False, soft_wrap=True)


def processes(lab: Lab) -> list[dict[str, Any]]:
    """What supervisord says of its programs. Raises LabError where no lab runs."""
    try:
        found: Any = _supervisor(lab).supervisor.getAllProcessInfo()
    except (OSError, xmlrpc.client.Error) as error:
        raise LabError("the lab is not running: `lab up`") from error
    return list(found)


def restart(lab: Lab, program: str) -> None:
    """Ends one of supervisord's programs and starts it again."""
    supervisor = _supervisor(lab).supervisor
    supervisor.stopProcess(program)
    supervisor.startProcess(program)


def _ready_to_start(lab: Lab) -> None:
    if faults := doctor.faults(lab):
        raise LabError("this machine cannot hold the lab:" + "".join(f"\n  {fault}" for fault in faults))


@contextlib.contextmanager
def _alone(lab: Lab) -> Iterator[None]:
    lab.state.mkdir(parents=True, exist_ok=True)
    lab.state.chmod(0o711)
    with (lab.state / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError("another `lab up` or `lab down` of this checkout is at work") from error
        yield


def _is_running(lab: Lab) -> bool:
    """True for a lab of this code and these versions whose supervisor answers."""
    mark = lab.state / "kubernetes" / "lab"
    if not mark.exists() or mark.read_text(encoding="utf-8") != _fingerprint():
        return False
    try:
        return bool(space.first_process(lab)) and len(processes(lab)) > 0
    except LabError:
        return False


def _fingerprint() -> str:
    files = sorted([*(HERE / "lab").glob("*.py"), *HERE.glob("modules/*/go.*")])
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _start(lab: Lab, console: Console, digits: Path) -> None:
    (lab.state / CHECKOUT).write_text(str(lab.root.resolve()), encoding="utf-8")
    shutil.rmtree(lab.state / "digits", ignore_errors=True)
    shutil.copytree(digits, lab.state / "digits")
    for path in (lab.state / "digits", *(lab.state / "digits").iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    lab.kubeconfig.unlink(missing_ok=True)
    (lab.state / "supervisor.sock").unlink(missing_ok=True)
    shutil.rmtree(lab.state / "kubernetes", ignore_errors=True)
    space.start(lab)

    def reason() -> str:
        if not space.first_process(lab):
            raise LabError(f"the lab ended while it started: read {lab.log('lab')}:\n{lab.log('lab').read_text(encoding='utf-8')}")
        try:
            return "" if processes(lab) else "no programs yet"
        except LabError:
            return "certificates and kubeconfigs are being made"

    until(console, "supervisord", reason, seconds=120, log=lab.log("lab"))
    admin = yaml.safe_load((lab.state / "kubernetes" / "super-admin.conf").read_text(encoding="utf-8"))
    admin["clusters"][0]["cluster"]["server"] = f"https://{lab.addresses[1]}:6443"
    lab.kubeconfig.touch(mode=0o600)
    lab.kubeconfig.write_text(yaml.safe_dump(admin), encoding="utf-8")
    (lab.state / "kubernetes" / "lab").write_text(_fingerprint(), encoding="utf-8")


def _control_plane(lab: Lab, console: Console) -> None:
    def healthy() -> str:
        return _failure(lab, "get", "--raw=/readyz")

    until(console, "the API server", healthy, seconds=180, log=lab.log("kube-apiserver"))
    addon = documents((lab.state / "coredns.yaml").read_text(encoding="utf-8"))
    access = [each for each in addon if each["kind"] in ("ClusterRole", "ClusterRoleBinding", "ServiceAccount")]
    admins: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubeadm:cluster-admins"},  # as kubeadm init makes it: how the API server reaches the kubelet
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "kubeadm:cluster-admins"}],
    }
    system.apply(lab, console, "access", [*access, admins], str(lab.log("kube-apiserver")))

    def images_client() -> str:
        try:
            process.run(["ctr", "--address", str(lab.state / "containerd.sock"), "version"], timeout=20)
        except GateError as error:
            return str(error)
        return ""

    until(console, "containerd", images_client, seconds=60, log=lab.log("containerd"))
    images.bring(lab, console, [images.pause()])

    def node_ready() -> str:
        try:
            node = json.loads(system.kubectl(lab, "get", "node", NODE, "--output=json"))
        except GateError as error:
            return str(error)
        ready: dict[str, Any] = next((each for each in node["status"]["conditions"] if each["type"] == "Ready"), {})
        return "" if ready.get("status") == "True" else str(ready.get("message", "no word from the kubelet"))

    until(console, "the node", node_ready, seconds=120, log=lab.log("kubelet"))
    devices = {name: amount for name, amount in facts()["nodes"][0]["allocatable"].items() if "/" in name}
    patch = [{"op": "add", "path": f"/status/capacity/{name.replace('/', '~1')}", "value": amount} for name, amount in devices.items()]
    system.kubectl(lab, "patch", "node", NODE, "--subresource=status", "--type=json", f"--patch={json.dumps(patch)}")
    until(console, "the node's devices", lambda: _devices_missing(lab, devices), seconds=60, log=lab.log("kubelet"))
    until(console, "CoreDNS", lambda: _silent(f"http://{GATEWAY}:8181/ready", lab), seconds=90, log=lab.log("coredns"))


def _deploy(lab: Lab, console: Console, *, push: bool) -> None:
    rendered = {project: system.render(lab, project) for project in system.PROJECTS}
    names = dict.fromkeys(name for objects in rendered.values() for name in system.images(objects))
    images.bring(lab, console, [images.controller(name) for name in names])
    system.deploy(lab, console, rendered, () if push else system.FOLDERS)
    gitops.prepare(lab)
    for version, fixed in images.TENSORFLOW.items():
        wanted = [fixed] if fixed else system.images(system.folder("runtimes"))
        images.bring(lab, console, [images.tensorflow(version, name) for name in wanted])
    if push:
        gitops.deploy(lab, console, lab.root)


def _failure(lab: Lab, *words: str) -> str:
    try:
        system.kubectl(lab, *words, timeout=20)
    except GateError as error:
        return str(error)
    return ""


def _devices_missing(lab: Lab, devices: dict[str, str]) -> str:
    found = json.loads(system.kubectl(lab, "get", "node", NODE, "--output=jsonpath={.status.allocatable}"))
    return ", ".join(f"{name} is {found.get(name, 'absent')}" for name, amount in devices.items() if found.get(name) != amount)


def _silent(url: str, lab: Lab) -> str:
    """Why a URL inside the lab's network does not answer."""
    fetch = f"import urllib.request; urllib.request.urlopen({url!r}, timeout=5)"
    first = space.first_process(lab)
    try:
        process.run(["nsenter", f"--net=/proc/{first}/ns/net", sys.executable, "-c", fetch], timeout=20)
    except GateError as error:
        return str(error)
    return ""


def _supervisor(lab: Lab) -> xmlrpc.client.ServerProxy:
    transport = SupervisorTransport(None, None, f"unix://{lab.state / 'supervisor.sock'}")
    return xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
