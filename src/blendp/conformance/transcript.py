"""A device from its first day on: what it is asked to do, what a collector answers, and all that it sends.

What a collector answers is written down by method and address, a list for each: the first answer to the first request,
and the last to all that follow. So it does not matter in which order a client fetches documents. A step that says
``refused`` is refused for that reason, and the next one follows.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from blendp.client import Collector, Consent, Device, Http
from blendp.client.policy import Policy
from blendp.conformance.reasons import reason_of
from blendp.conformance.tape import Tape, TapeError
from blendp.privacy import Budget
from blendp.wire import VerifyKey

_JITTER = 0.5


def replayed(given: Mapping[str, Any]) -> Any:
    """Everything that the device sends, but for what it fetches; its ledger; and the fate of what it queued."""
    import httpx

    answers = {address: list(some) for address, some in given["answers"].items()}
    requests: list[dict[str, str | None]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method != "GET":
            requests.append(_shown(request))
        some = answers.get(f"{request.method} {request.url}")
        if not some:
            return httpx.Response(404, text='{"type":"urn:blendp:problem:not-found"}')
        one = some.pop(0) if len(some) > 1 else some[0]
        if one["status"] == 0:
            raise httpx.ConnectError("nobody answers")
        return httpx.Response(one["status"], headers=one.get("headers", {}), content=one["body"].encode("utf-8"))

    now = [float(given["now"])]
    tape, entropy = Tape(bytes.fromhex(given["tape"])), _reader(bytes.fromhex(given["entropy"]))

    def opened(folder: str, described: Mapping[str, Any]) -> Device:
        collector = Collector(
            described["url"],
            [VerifyKey.of_text(key) for key in described["keys"]],
            described.get("witnesses", ()),
            Policy(),
            described.get("trust_on_first_use", False),
            http=Http(httpx.MockTransport(answer)),
        )
        return Device(
            Path(folder) / "device",
            collector,
            clock=lambda: now[0],
            jitter=lambda: _JITTER,
            random=tape,
            entropy=entropy,
        )

    with tempfile.TemporaryDirectory() as folder:
        device = opened(folder, given["collector"])
        try:
            for step in given["steps"]:
                if step["do"] == "wait":
                    now[0] += step["seconds"]
                elif step["do"] == "collector":
                    device.close()
                    device = opened(folder, step)
                else:
                    _take(device, step)
            return {
                "requests": requests,
                "ledger": [
                    [one.campaign, one.group, one.budget.epsilon, one.budget.delta] for one in device.ledger.entries
                ],
                "queue": [[item.kind, item.state, item.reason] for item in device.items],
            }
        finally:
            device.close()


def _take(device: Device, step: Mapping[str, Any]) -> None:
    """Do one step, which is refused if it says so, and for no other reason."""
    try:
        _STEPS[step["do"]](device, step)
    except Exception as error:
        if "refused" not in step or reason_of(error) != step["refused"]:
            raise
    else:
        if "refused" in step:
            raise TapeError(f"The step {step} was to be refused.")


_STEPS: Mapping[str, Callable[[Device, Mapping[str, Any]], object]] = {
    "consent": lambda device, step: device.set_consent(Consent(step["level"])),
    "look": lambda device, step: device.look(step["campaign"]),
    "take-part": lambda device, step: device.take_part(step["campaign"], step["records"]),
    "enrol": lambda device, step: device.enrol(step["campaign"], step["token"], step["records"]),
    "send": lambda device, _: device.send(),
    "ledger": lambda device, _: device.ledger,
    "forget": lambda device, step: device.forget(step["campaign"]),
    "lower-cap": lambda device, step: device.lower_cap(_budget(step.get("life")), yearly=_budget(step.get("year"))),
}


def _budget(given: list[float] | None) -> Budget | None:
    return None if given is None else Budget(*given)


def _shown(request: Any) -> dict[str, str | None]:
    return {
        "method": request.method,
        "url": str(request.url),
        "type": request.headers.get("content-type"),
        "token": request.headers.get("authorization"),
        "body": request.content.decode("utf-8") or None,
    }


def _reader(data: bytes) -> Callable[[int], bytes]:
    """Hands out bytes in their order."""
    stream = io.BytesIO(data)

    def read(count: int) -> bytes:
        part = stream.read(count)
        if len(part) != count:
            raise TapeError(f"{count} bytes of entropy are asked for, and the vector has {len(part)} left.")
        return part

    return read
