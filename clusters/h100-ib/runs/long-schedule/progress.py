"""Progress for Trainer's status server (feature gate TrainJobStatus): the TrainJob's status shows it.

The pod has three environment variables if the gate is on. Nothing here can fail or delay the training: requests go out
from a thread of their own, at most one in five seconds, only the newest one counts, and errors are told once.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

EVERY = 5.0  # seconds; the server handles five requests a second for the whole cluster
URL, CA, TOKEN = (f"KUBEFLOW_TRAINER_SERVER_{name}" for name in ("URL", "CA_CERT", "TOKEN"))


def body(percent: float, remaining: float | None, metrics: Mapping[str, float]) -> dict[str, object]:
    """The request, within the server's limits. Each one replaces the last, so it is always whole."""
    status: dict[str, object] = {
        "progressPercentage": max(0, min(100, int(percent))),
        "metrics": [{"name": name[:64], "value": f"{value:.6g}"} for name, value in list(metrics.items())[:256]],
        "lastUpdatedTime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if remaining is not None:
        status["estimatedRemainingSeconds"] = max(0, int(remaining))
    return {"trainerStatus": status}


class Reporter:
    """Sends the newest status; does nothing where the variables are not set."""

    def __init__(self, env: Mapping[str, str], say: Callable[[str], None]) -> None:
        self.url, self.ca, self.token = env.get(URL, ""), env.get(CA, ""), env.get(TOKEN, "")
        self.say, self.told = say, ""
        self.newest: dict[str, object] | None = None
        self.sent = 0.0
        self.wake, self.ended = threading.Event(), False
        self.thread = threading.Thread(target=self._work, daemon=True)
        if self.url.startswith("https://"):
            self.thread.start()

    def due(self) -> bool:
        """Whether something reported now would be sent soon."""
        return self.thread.is_alive() and time.monotonic() - self.sent >= EVERY

    def report(self, percent: float, remaining: float | None, metrics: Mapping[str, float]) -> None:
        """Returns at once."""
        self.newest = body(percent, remaining, metrics)
        self.wake.set()

    def close(self) -> None:
        """Send what is waiting, for at most some seconds."""
        self.ended = True
        self.wake.set()
        if self.thread.is_alive():
            self.thread.join(EVERY)

    def _work(self) -> None:
        while not self.ended or self.newest:
            self.wake.wait()
            self.wake.clear()
            while not self.ended and time.monotonic() - self.sent < EVERY:
                self.wake.wait(EVERY)
                self.wake.clear()
            status, self.newest = self.newest, None
            if status:
                self.sent = time.monotonic()
                self._send(status)

    def _send(self, status: dict[str, object]) -> None:
        try:
            # Token and CA are rotated under us: read each time.
            headers = {
                "Authorization": f"Bearer {Path(self.token).read_text().strip()}",
                "Content-Type": "application/json",
            }
            request = urllib.request.Request(self.url, json.dumps(status).encode(), headers, method="POST")  # noqa: S310
            context = ssl.create_default_context(cafile=self.ca or None)
            urllib.request.urlopen(request, timeout=5, context=context).close()  # noqa: S310
        except Exception as error:  # whatever it is, the training goes on
            if str(error) != self.told:
                self.told = str(error)
                self.say(f"progress is not reported: {error}")
