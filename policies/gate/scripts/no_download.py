"""Data come from a volume, not from the internet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _names, _trace
from gate.scripts._values import UNKNOWN, Event, Taint, is_constant

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/no-download",
    title="A training reads its data from a volume and downloads none",
    description="A script runs on every node of a job, so every node downloads at once, at each start and each restart of the gang, while "
    "GPUs are held. Training pods often have no way out, and a run that depends on a server of somebody else cannot be repeated. Workers "
    "that share the cache folder take another's half file for the whole one, or, where its checksum is known, begin it anew.",
    symptoms=("all pods download CIFAR-10 at once, or hang at it",),
    severity="error",
    fix="Put the data on a volume once and read them from DATA_DIR. Where a cluster means its pods to download, waive this.",
    example="(x, y), test = tf.keras.datasets.cifar10.load_data()",
    references=(
        ("https://www.tensorflow.org/api_docs/python/tf/keras/datasets/cifar10/load_data", "downloads on first use"),
        ("https://www.tensorflow.org/datasets/api_docs/python/tfds/load", "download=True is the default"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_a_data_set_that_no_worker_can_download_ends_them_all",
        "lab: tests/training/test_training.py::test_workers_that_share_the_cache_take_the_half_file_of_another",
        "source: keras src/datasets/cifar10.py",
        "source: keras src/utils/data_utils.py",
    ),
)

_DATASETS = ("mnist", "fashion_mnist", "cifar10", "cifar100", "imdb", "reuters", "boston_housing", "california_housing")
_FETCHES = ("urllib.request.urlretrieve", "wget.download", "gdown.download")


def faults(script: Script) -> Iterator[Finding]:
    seen = set()
    for event in _trace.events(script):
        what, severity = _downloads(event)
        alone = any(branch.test.rank for branch in event.path)
        if what and not alone and event.line not in seen:
            seen.add(event.line)
            decided = event.alone or any(not branch.root and not branch.lasts for branch in event.path)
            yield event.line, f"{what} downloads data, in every pod of the job", "warning" if decided else severity


def _downloads(event: Event) -> tuple[str, Severity | None]:
    if event.kind not in ("call", "opaque"):
        return "", None
    keras = _names.keras_name(event.name)
    parts = keras.split(".")
    if parts[0] == "datasets" and parts[-1] == "load_data" and len(parts) == 3 and parts[1] in _DATASETS:
        path = event.call.get(0, "path") if parts[1] not in ("fashion_mnist", "cifar10", "cifar100") else None
        if path is None or (path.kind == "constant" and not str(path.data).startswith("/")):
            return f"{parts[1]}.load_data()", None
        return "", None  # an absolute path is taken as it is
    if keras == "utils.get_file":
        origin = event.call.get(1, "origin") or UNKNOWN
        return ("get_file()", "warning") if not (origin.text or "").startswith("file:") else ("", None)
    if event.name in ("tensorflow_datasets.load", "tensorflow_datasets.public_api.load"):
        download = event.call.get(5, "download")
        no_way = download is not None and (is_constant(download, False) or download.kind != "constant" or download.taint is not Taint.SAME)
        return ("", None) if no_way or "data_dir" in event.call.kwargs else ("tfds.load()", "warning")
    if event.name in _FETCHES:
        url = event.call.get(0, "url", "fullurl") or UNKNOWN
        return (f"{event.name}()", "warning") if (url.text or "").startswith(("http://", "https://", "ftp://")) else ("", None)
    return "", None
