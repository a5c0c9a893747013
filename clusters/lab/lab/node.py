"""The configuration of the node's programs: kubeadm, kubelet, containerd, CNI, CoreDNS, kube-proxy, supervisord.

All paths are those inside the lab, where its state folder is /run/lab.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lab import doctor
from lab.binaries import binary, modules
from lab.model import BRIDGE, DOMAIN, GATEWAY, INSIDE, NODE, PODS, SERVICES, Lab, documents

ADMIN = "/etc/kubernetes/super-admin.conf"
SANDBOX = "localhost/pause:lab"
SUPERVISOR = INSIDE / "supervisor.sock"
_SOCKET = INSIDE / "containerd.sock"
_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def write(lab: Lab, folder: Path = INSIDE) -> None:
    """Every file that does not depend on what kubeadm makes."""
    (folder / "kubeadm.yaml").write_text(yaml.safe_dump_all(_kubeadm(lab)), encoding="utf-8")
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(lab)), encoding="utf-8")
    (folder / "kube-proxy.yaml").write_text(yaml.safe_dump(_kube_proxy()), encoding="utf-8")
    (folder / "containerd.toml").write_text(_containerd(), encoding="utf-8")
    (folder / "resolv.conf").write_text("# pods know the cluster's names and no others\n", encoding="utf-8")
    (folder / "nothing.zone").write_text(". 5 IN SOA nowhere. nobody. 1 60 60 60 5\n", encoding="utf-8")
    (folder / "cni").mkdir(exist_ok=True)
    (folder / "cni" / "10-lab.conflist").write_text(json.dumps(_network(), indent=2), encoding="utf-8")


def corefile(addon: str) -> str:
    """kubeadm's own Corefile, bound to the bridge; what the cluster does not know does not exist, since there is no other DNS."""
    config = next(each for each in documents(addon) if each["kind"] == "ConfigMap")["data"]["Corefile"]
    text = re.sub(r"^( *)errors\n", rf"\1bind {GATEWAY}\n\1errors\n", config, flags=re.MULTILINE)
    text = re.sub(r"^( *)(kubernetes .*\{\n)", r"\1\2\1   kubeconfig /etc/kubernetes/coredns.conf\n", text, flags=re.MULTILINE)
    text = re.sub(r"^ *loop\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^( *)forward [^}]*\}\n", rf"\1file {INSIDE / 'nothing.zone'} .\n", text, flags=re.MULTILINE)


def programs(manifests: Path) -> dict[str, list[str]]:
    """Name → command of everything that supervisord keeps running; the control plane's as kubeadm's manifests have them."""
    found = {"containerd": ["containerd", "--config", str(INSIDE / "containerd.toml")]}
    for name in _CONTROL_PLANE:
        pod = yaml.safe_load((manifests / f"{name}.yaml").read_text(encoding="utf-8"))
        found[name] = [str(binary(name)), *pod["spec"]["containers"][0]["command"][1:]]
    found["kubelet"] = [
        str(binary("kubelet")),
        f"--config={INSIDE / 'kubelet.yaml'}",
        "--kubeconfig=/etc/kubernetes/kubelet.conf",
        f"--hostname-override={NODE}",
        f"--node-ip={GATEWAY}",
        f"--root-dir={INSIDE / 'kubelet'}",
        f"--cert-dir={INSIDE / 'kubelet' / 'pki'}",
    ]
    found["kube-proxy"] = [str(binary("kube-proxy")), f"--config={INSIDE / 'kube-proxy.yaml'}"]
    found["coredns"] = [str(binary("coredns")), "-conf", str(INSIDE / "Corefile")]
    git = str(INSIDE / "git")
    found["git-daemon"] = ["git", "daemon", "--reuseaddr", f"--listen={GATEWAY}", "--export-all", f"--base-path={git}", git]
    return found


def supervisord(commands: Mapping[str, Sequence[str]]) -> configparser.RawConfigParser:
    """Starts everything again that ends, keeps the logs, and is the lab's process 1."""
    config = configparser.RawConfigParser()
    config["supervisord"] = {
        "nodaemon": "true",
        "user": "root",
        "logfile": str(INSIDE / "logs" / "supervisord.log"),
        "pidfile": "/run/supervisord.pid",
        "childlogdir": str(INSIDE / "logs"),
    }
    config["unix_http_server"] = {"file": str(SUPERVISOR), "chmod": "0600"}
    config["rpcinterface:supervisor"] = {"supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"}
    for name, command in commands.items():
        config[f"program:{name}"] = {
            "command": " ".join(_quoted(word) for word in command),
            "autorestart": "true",
            "startretries": "1000000",
            "stdout_logfile": str(INSIDE / "logs" / f"{name}.log"),
            "stdout_logfile_maxbytes": "32MB",
            "stdout_logfile_backups": "1",
            "redirect_stderr": "true",
        }
    return config


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _kubeadm(lab: Lab) -> list[dict[str, Any]]:
    api = {"apiVersion": "kubeadm.k8s.io/v1beta4"}
    return [
        {
            **api,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": GATEWAY, "bindPort": 6443},
            "nodeRegistration": {"name": NODE, "criSocket": f"unix://{_SOCKET}"},
        },
        {
            **api,
            "kind": "ClusterConfiguration",
            "clusterName": "lab",
            "kubernetesVersion": modules()["kubernetes"].version,
            "networking": {"serviceSubnet": SERVICES, "dnsDomain": DOMAIN},
            "apiServer": {"certSANs": [lab.addresses[1], "127.0.0.1", "localhost"]},
            # Every start of the lab is a new cluster: nothing in etcd has to survive the machine.
            "etcd": {"local": {"dataDir": str(INSIDE / "etcd"), "extraArgs": [{"name": "unsafe-no-fsync", "value": "true"}]}},
        },
    ]


def _kubelet(lab: Lab) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{lab.cgroup}",  # two kubelets on one root end each other's pods
        "clusterDNS": [GATEWAY],
        "clusterDomain": DOMAIN,
        "containerRuntimeEndpoint": f"unix://{_SOCKET}",
        "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "featureGates": {"KubeletInUserNamespace": True},  # forgives kernel settings that it may not write
        "imageGCHighThresholdPercent": 100,  # images cannot be fetched again
        "imageGCLowThresholdPercent": 99,
        "podLogsDir": str(INSIDE / "pods"),
        "resolvConf": str(INSIDE / "resolv.conf"),
        "syncFrequency": "5s",  # how soon a pod sees a changed secret: controllers wait for their certificates
        "volumePluginDir": str(INSIDE / "kubelet" / "volume-plugins"),
    }


def _kube_proxy() -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": "/etc/kubernetes/kube-proxy.conf"},
        "clusterCIDR": PODS,
        "conntrack": {"maxPerCore": 0, "min": 0},
        "hostnameOverride": NODE,
        "iptables": {"masqueradeAll": True},  # pods share one bridge: answers would bypass the way back without br_netfilter
        "mode": "iptables",
    }


def _containerd() -> str:
    return f"""version = 2
root = "{INSIDE}/containerd"
state = "/run/containerd"
[grpc]
  address = "{_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX}"
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  registry.config_path = "{INSIDE}/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{doctor.CNI}"
    conf_dir = "{INSIDE}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""


def _network() -> dict[str, Any]:
    addresses = {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "ipMasq": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": "lab", "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}]}
