"""A control plane without nodes and the real Kueue beside it, for configurations and versions that the shared lab does not have.

etcd, kube-apiserver and Kueue are the lab's programs, as processes of this machine that listen on loopback.
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gate import process, schemas, tools
from lab.binaries import binary, modules
from lab.model import Lab, documents
from tests.lab.conftest import running
from tests.lab.live import Cluster, Manifest

HOME = {"namespace": "kueue-system", "name": "kueue-webhook-service"}
FILE = "controller_manager_config.yaml"


@contextlib.contextmanager
def control_plane(root: Path) -> Iterator[Cluster]:
    """An API server with nothing in it; nothing of it is left afterwards but the logs in `root`."""
    lab = Lab(root=root)
    lab.state.mkdir(parents=True)
    try:
        api, clients, peers = (process.free_port() for _ in range(3))
        _certificates(lab, api)
        pki = lab.state / "pki"
        etcd = [
            binary("etcd"),
            f"--data-dir={lab.state / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls=http://127.0.0.1:{clients}",
            f"--advertise-client-urls=http://127.0.0.1:{clients}",
            f"--listen-peer-urls=http://127.0.0.1:{peers}",
        ]
        server = [
            binary("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{clients}",
            "--bind-address=127.0.0.1",
            f"--secure-port={api}",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--tls-cert-file={pki / 'apiserver.crt'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'sa.pub'}",
            f"--service-account-signing-key-file={pki / 'sa.key'}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
        ]
        with running(etcd, root / "etcd.log"), running(server, root / "kube-apiserver.log"):
            cluster = Cluster(lab=lab)
            cluster.wait("the API server", lambda: _succeeds(cluster, "get", "--raw=/readyz"))
            yield cluster
    finally:
        shutil.rmtree(lab.state)


def install(cluster: Cluster, **versions: str) -> None:
    """The kinds of components in these versions, in place of those that are there."""
    for component, version in versions.items():
        found = sorted(tools.module(component, version).glob(schemas.sources()[component].crds or ""))
        kinds = [
            each for file in found for each in documents(file.read_text(encoding="utf-8")) if each["kind"] == "CustomResourceDefinition"
        ]
        cluster.apply(*kinds, words=("--force-conflicts",))
        names = [f"crd/{each['metadata']['name']}" for each in kinds]
        words = ("wait", "--for=condition=Established", "--timeout=60s", *names)
        cluster.wait("the kinds", lambda words=words: _succeeds(cluster, *words))  # it fails where there is no condition yet


@dataclass(frozen=True, kw_only=True, slots=True)
class Kueue:
    """A Kueue whose kinds and webhooks are there: its module's files, its program, and the port at which it serves the webhooks."""

    cluster: Cluster
    sources: Path
    program: Path
    port: int

    def configuration(self, **changes: Any) -> Manifest:
        """Its ConfigMap: upstream's configuration with these changes."""
        upstream = (self.sources / "config/components/manager" / FILE).read_text(encoding="utf-8")
        text = yaml.safe_dump(yaml.safe_load(upstream) | changes)
        metadata = {"name": "kueue-manager-config", "namespace": HOME["namespace"]}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {FILE: text}}

    @contextlib.contextmanager
    def started(self, folder: Path, configuration: Manifest) -> Iterator[Path]:
        """It works, by a ConfigMap as `configuration` makes it; its log."""
        health = process.free_port()
        here = {
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self.port, "certDir": str(folder)},
            "leaderElection": {"leaderElect": False},
        }
        settings = yaml.safe_load(configuration["data"][FILE]) | here
        settings["featureGates"] = {"VisibilityOnDemand": False, **settings.get("featureGates", {})}  # it would write into /
        (folder / FILE).write_text(yaml.safe_dump(settings), encoding="utf-8")
        log = folder / "kueue.log"
        words = [f"--kubeconfig={self.cluster.lab.kubeconfig}", f"--config={folder / FILE}", "--zap-log-level=2"]
        with running([self.program, *words], log):
            self.cluster.wait("its certificate", lambda: _mounted(self.cluster, folder))
            self.cluster.wait("Kueue", lambda: _ready(health))
            yield log


def kueue(cluster: Cluster, sources: Path, program: Path) -> Kueue:
    """The kinds and webhooks of a Kueue, in place of those that are there."""
    port = process.free_port()
    options = ("--load-restrictor", "LoadRestrictionsNone")
    built = process.run([tools.binary("kustomize"), "build", *options, sources / "config/default"], timeout=120)
    kinds = ("Namespace", "Secret", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    objects = [each for each in documents(built) if each["kind"] in kinds]
    for each in objects:
        clients = [webhook["clientConfig"] for webhook in each.get("webhooks", [])]
        if "webhook" in each.get("spec", {}).get("conversion", {}):
            clients.append(each["spec"]["conversion"]["webhook"]["clientConfig"])
        for client in clients:
            assert HOME.items() <= client["service"].items()
            client["service"]["port"] = port
    service = {"type": "ExternalName", "externalName": "localhost"}  # which the API server follows
    cluster.apply(*objects, {"apiVersion": "v1", "kind": "Service", "metadata": HOME, "spec": service}, words=("--force-conflicts",))
    return Kueue(cluster=cluster, sources=sources, program=program, port=port)


def _certificates(lab: Lab, port: int) -> None:
    """Those of the API server, and a kubeconfig."""
    config = [
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": "192.0.2.1", "bindPort": port},  # nobody's: kubeadm takes no loopback address
            "nodeRegistration": {"name": "none", "criSocket": "unix:///none"},
        },
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": modules()["kubernetes"].version,
            "controlPlaneEndpoint": f"127.0.0.1:{port}",
            "certificatesDir": str(lab.state / "pki"),
        },
    ]
    file = lab.state / "kubeadm.yaml"
    file.write_text(yaml.safe_dump_all(config), encoding="utf-8")
    for phase in ("certs ca", "certs apiserver", "certs sa", f"kubeconfig super-admin --kubeconfig-dir={lab.state}"):
        process.run([binary("kubeadm"), "init", "phase", *phase.split(), f"--config={file}"], timeout=60)
    (lab.state / "super-admin.conf").rename(lab.kubeconfig)


def _mounted(cluster: Cluster, folder: Path) -> bool:
    """Writes what Kueue has put into its secret to where it reads it, as a kubelet would; false as long as there is nothing."""
    found = cluster.get("secret", "kueue-webhook-server-cert", f"--namespace={HOME['namespace']}").get("data", {})
    for name, content in found.items():
        (folder / name).write_bytes(base64.b64decode(content))
    return bool(found)


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _succeeds(cluster: Cluster, *words: str) -> bool:
    try:
        cluster.kubectl(*words)
    except subprocess.CalledProcessError:
        return False
    return True
