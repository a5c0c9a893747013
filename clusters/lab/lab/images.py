"""The images that the manifests name, made from the built programs and from the tests' TensorFlow environments.

An image has at most two layers, what it is based on and what it is for. It is streamed into containerd as a docker
archive and bears a label of what it was made from, so that it is made again only when that changes.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from gate import process, tools
from lab import doctor, node
from lab.binaries import binary, modules
from lab.model import ROOT, Lab, LabError

_SUITE = "bookworm"  # its Python is 3.11, for which both TensorFlow environments are resolved
_PYTHON = ("openssl", "python3", "python3-distutils")
_ARGOCD = ("git", "gnupg", "redis-server", "tini")  # Redis is in the same base: one less to make
_ARGOCD_USER = 999  # as in upstream's image and manifests
_MADE_FROM = "lab/made-from"
_SITE = "usr/local/lib/python3.11/dist-packages"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TENSORFLOW = {"2.15": None, "2.21": "localhost/tensorflow:2.21"}  # None: the name that the runtimes ask for


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A name, what is in it, and a fingerprint of that."""

    name: str
    made_from: str
    fill: Callable[[tarfile.TarFile], None]
    entrypoint: Sequence[str]
    user: str = "65532:65532"
    packages: Sequence[str] = ()  # of the Debian that it is based on; none: it is based on nothing
    environment: Sequence[str] = field(default=(_PATH,))


def pause() -> Image:
    """What holds a pod's namespaces."""

    def fill(tar: tarfile.TarFile) -> None:
        tar.add(doctor.BUSYBOX.resolve(), "busybox")

    entrypoint = ["/busybox", "sleep", "2147483647"]
    return Image(name=node.SANDBOX, made_from=_digest(doctor.BUSYBOX.read_bytes()), fill=fill, entrypoint=entrypoint)


def busybox(name: str) -> Image:
    """A shell and its tools, statically linked: Debian's, under the name of the published image."""
    links = subprocess.run([doctor.BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()

    def fill(tar: tarfile.TarFile) -> None:
        _add_folder(tar, "tmp", 0o1777)
        _add_programs(tar, {"bin/busybox": doctor.BUSYBOX.resolve()})
        _add_links(tar, "bin/busybox", [link for link in links if link != "busybox"])

    return Image(name=name, made_from=_digest(f"links {doctor.BUSYBOX.read_bytes()!r}".encode()), fill=fill, entrypoint=["sh"], user="0:0")


def controller(name: str) -> Image:
    """The image of one upstream name, made of the program that its last part stands for."""
    part = name.rpartition("/")[2].partition(":")[0]
    if part in _OTHERS:
        return _OTHERS[part](name)
    program, place = _PROGRAMS[part]
    files = {place: binary(program)}
    if program == "volcano-webhook-manager":  # its set-up job is a shell script, and runs in the same image
        files |= {
            "usr/local/bin/kubectl": binary("kubectl"),
            "gen-admission-secret.sh": modules()["volcano"].sources() / "installer/dockerfile/webhook-manager/gen-admission-secret.sh",
            "usr/bin/sh": doctor.BUSYBOX.resolve(),  # as in upstream's image: the script is not for dash
        }

    def fill(tar: tarfile.TarFile) -> None:
        _add_folder(tar, "tmp", 0o1777)
        _add_programs(tar, files)

    packages = _PYTHON if len(files) > 1 else ()
    return Image(name=name, made_from=_named(files), fill=fill, entrypoint=[f"/{place}"], packages=packages)


def _argocd(name: str) -> Image:
    """Argo CD is one program under many names; git, GnuPG and tini are Debian's, kustomize is the gate's."""
    programs = ("argocd-server", "argocd-repo-server", "argocd-application-controller", "argocd-applicationset-controller")
    files = {"usr/local/bin/argocd": binary("argocd"), "usr/local/bin/kustomize": tools.binary("kustomize")}

    def fill(tar: tarfile.TarFile) -> None:
        _add_folder(tar, "tmp", 0o1777)
        for folder in ("home/argocd", "app/config/gpg/keys"):
            _add_folder(tar, folder, 0o775, _ARGOCD_USER)
        _add_programs(tar, files)
        _add_links(tar, "usr/local/bin/argocd", (*programs, "argocd-k8s-auth", "argocd-cmp-server"))
        _add_file(tar, "etc/passwd", f"root:x:0:0::/root:/bin/sh\nargocd:x:{_ARGOCD_USER}:{_ARGOCD_USER}::/home/argocd:/bin/sh\n".encode())

    made_from = _digest(f"{_named(files)} {_SUITE} {_ARGOCD}".encode())
    user = f"{_ARGOCD_USER}:{_ARGOCD_USER}"
    return Image(name=name, made_from=made_from, fill=fill, entrypoint=["/usr/bin/tini", "--"], user=user, packages=_ARGOCD)


def _redis(name: str) -> Image:
    """Debian's Redis."""
    made_from = _digest(f"redis {_SUITE} {_ARGOCD}".encode())
    return Image(name=name, made_from=made_from, fill=lambda tar: None, entrypoint=["redis-server"], user="999:999", packages=_ARGOCD)


def tensorflow(version: str, name: str) -> Image:
    """A TensorFlow environment of the tests on Debian's Python."""
    environment = _environment(version)

    def fill(tar: tarfile.TarFile) -> None:
        def owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            return info

        for path in sorted((environment / "lib/python3.11/site-packages").iterdir()):
            tar.add(path, f"{_SITE}/{path.name}", filter=owned)

    legacy = ["TF_USE_LEGACY_KERAS=1"] if version != "2.15" else []  # Keras 3 cannot fit under MultiWorkerMirroredStrategy
    return Image(
        name=name,
        made_from=_digest(f"{environment.name} {_SUITE} {_PYTHON}".encode()),
        fill=fill,
        entrypoint=["python3"],
        user="0:0",
        packages=_PYTHON,
        environment=(_PATH, *legacy),
    )


def bring(lab: Lab, console: Console, wanted: Sequence[Image]) -> None:
    """Makes and imports what containerd does not have in this form yet."""
    listed = _ctr(lab, "images", "ls").splitlines()[1:]
    have = {line.split()[0]: line for line in listed}
    for image in wanted:
        if f"{_MADE_FROM}={image.made_from}" in have.get(image.name, ""):
            continue
        with console.status(f"make the image {image.name} …"):
            _bring(lab, image)
        console.print(f"make the image {image.name}: done", highlight=False)


def bases(console: Console) -> None:
    """Every Debian that images are based on, made once."""
    for packages in (_PYTHON, _ARGOCD):
        _base(packages, console)


def _base(packages: Sequence[str], console: Console) -> Path:
    """A small Debian with these packages as a tar."""
    target = tools.cache() / "images" / f"base-{_digest(f'{_SUITE} {packages}'.encode())}.tar"
    title = f"make a Debian {_SUITE} with {', '.join(packages)} for images (once)"
    tools.once(console, title, target, functools.partial(_make_base, packages))
    return target


def digits(console: Console) -> Path:
    """scikit-learn's digits in CIFAR-10's format, made once."""
    script = ROOT / "tests" / "training" / "digits.py"
    target = tools.cache() / "images" / f"digits-{_digest(script.read_bytes())}"
    make = functools.partial(_make_digits, script)
    tools.once(console, "write the digits in CIFAR-10's format (once)", target, make)
    return target


def _make_base(packages: Sequence[str], target: Path) -> None:
    command: list[str | Path] = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", _SUITE, target]
    process.run(command, timeout=1200)


def _make_digits(script: Path, target: Path) -> None:
    process.run([_environment("2.15") / "bin" / "python", script, target], timeout=300)


@functools.cache
def _environment(version: str) -> Path:
    """The folder of a TensorFlow environment of the tests, installed from its lock file if it is not there yet."""
    script = ROOT / "tests" / "training" / "environments.py"
    told = process.run([sys.executable, script, version], timeout=3600)
    return Path(told.strip().rpartition(" ")[2]).parent.parent


def _bring(lab: Lab, image: Image) -> None:
    """Streams a docker archive: layers, configuration, manifest."""
    with tempfile.TemporaryDirectory(dir=tools.cache(), prefix=".making-") as folder:
        own = Path(folder) / "layer.tar"
        with tarfile.open(own, "w") as tar:
            image.fill(tar)
        layers = [*([_base(image.packages, Console(quiet=True))] if image.packages else []), own]
        digests = []
        for layer in layers:
            with layer.open("rb") as content:
                digests.append(hashlib.file_digest(content, "sha256").hexdigest())
        config = {
            "architecture": "amd64",
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            "config": {"User": image.user, "Entrypoint": list(image.entrypoint), "Env": list(image.environment)},
        }
        body = json.dumps(config).encode()
        names = [f"{digest}.tar" for digest in digests]
        manifest = [{"Config": f"{_digest(body, 64)}.json", "RepoTags": [image.name], "Layers": names}]
        command = [*_client(lab), "images", "import", "-"]
        with (Path(folder) / "words").open("w+b") as words:
            importing = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=words, stderr=words)
            assert importing.stdin
            try:
                with importing.stdin, tarfile.open(fileobj=importing.stdin, mode="w|") as archive:
                    for name, layer in zip(names, layers, strict=True):
                        archive.add(layer, name)
                    _add_file(archive, f"{_digest(body, 64)}.json", body)
                    _add_file(archive, "manifest.json", json.dumps(manifest).encode())
            except BrokenPipeError:
                pass
            if importing.wait(timeout=900):
                words.seek(0)
                said = words.read().decode(errors="replace").strip()
                raise LabError(f"{image.name} was not imported: {said}: read {lab.log('containerd')}")
    _ctr(lab, "images", "label", image.name, f"{_MADE_FROM}={image.made_from}")


def _ctr(lab: Lab, *words: str) -> str:
    return process.run([*_client(lab), *words], timeout=120)


def _client(lab: Lab) -> list[str]:
    return ["ctr", "--address", str(lab.state / "containerd.sock"), "--namespace", "k8s.io"]


def _add_file(tar: tarfile.TarFile, name: str, body: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    tar.addfile(info, io.BytesIO(body))


def _add_folder(tar: tarfile.TarFile, name: str, mode: int, owner: int = 0) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.uid, info.gid = tarfile.DIRTYPE, mode, owner, owner
    tar.addfile(info)


def _add_programs(tar: tarfile.TarFile, files: Mapping[str, Path]) -> None:
    for target, source in files.items():
        info = tar.gettarinfo(source, target)
        info.mode, info.uid, info.gid = 0o755, 0, 0
        with source.open("rb") as content:
            tar.addfile(info, content)


def _add_links(tar: tarfile.TarFile, program: str, names: Sequence[str]) -> None:
    """Further names of a program, beside it."""
    folder, _, target = program.rpartition("/")
    for name in names:
        info = tarfile.TarInfo(f"{folder}/{name}")
        info.type, info.linkname = tarfile.SYMTYPE, target
        tar.addfile(info)


def _named(files: Mapping[str, Path]) -> str:
    """A fingerprint: built programs are named after what they are built from."""
    return _digest("".join(f"{target}={source}" for target, source in files.items()).encode())


def _digest(content: bytes, length: int = 16) -> str:
    return hashlib.sha256(content).hexdigest()[:length]


_PROGRAMS = {  # last part of an upstream image's name → program, and where upstream's manifest or image has it
    "jobset": ("jobset", "manager"),
    "kueue": ("kueue", "manager"),
    "trainer-controller-manager": ("trainer-controller-manager", "manager"),
    "vc-scheduler": ("volcano-scheduler", "vc-scheduler"),
    "vc-controller-manager": ("volcano-controller-manager", "vc-controller-manager"),
    "vc-webhook-manager": ("volcano-webhook-manager", "vc-webhook-manager"),
}
_OTHERS: Mapping[str, Callable[[str], Image]] = {"argocd": _argocd, "redis": _redis}
