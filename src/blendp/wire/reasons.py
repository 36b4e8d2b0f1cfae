"""What became of reports, explained to operators: what each outcome means, and what to do about many of them."""

from __future__ import annotations

from blendp.wire.messages import Message
from blendp.wire.reports import Fate


class Reason(Message):
    """One outcome of a report."""

    outcome: Fate
    meaning: str
    remedy: str


class Reasons(Message):
    """Every outcome that is counted by day, the most usual first."""

    reasons: list[Reason]


REASONS = (
    Reason("accepted", "The report is kept and will be counted.", "Nothing to do: this is what should happen."),
    Reason(
        "duplicate",
        "The same report came again, byte for byte, and is counted once.",
        "Nothing to do: devices send again when an answer was lost. Very many mean that answers get lost on the way: "
        "look at the proxy, and at how long requests take.",
    ),
    Reason(
        "over-quota",
        "An install that has reported sent another report under another id; the first one counts.",
        "Look for devices whose state was copied or set back, such as images of machines and restored backups.",
    ),
    Reason(
        "conflict",
        "Other contents came under an id and an install that a report is kept of; the first one counts.",
        "Look for a client that draws a report anew when it sends again: it must keep the bytes that it drew.",
    ),
    Reason(
        "late",
        "The report came after the last day, or after the result was released.",
        "Nothing to do about a few: devices were off. If there are many, give the next campaign a later last day.",
    ),
    Reason(
        "wrong-state",
        "The report came while the campaign took none, as its list was not public.",
        "Look for a client that makes reports about something else than a signed list.",
    ),
    Reason(
        "deleted",
        "The report was deleted at its owner's request, and came again or came after the request.",
        "Nothing to do: people's wishes are kept. A deleted report is not taken a second time.",
    ),
    Reason(
        "wrong-list",
        "The report is bound to another manifest than that of this campaign.",
        "Look for a proxy or a client that holds old documents, or sends reports to another campaign's address.",
    ),
    Reason(
        "wrong-scheme",
        "The client draws or encodes in another way than the campaign's scheme.",
        "Hold the client against the vectors (blendp vectors check); do not count on its reports before it passes.",
    ),
    Reason(
        "impossible",
        "The randomiser cannot have made this report.",
        "Look for a broken client, or for somebody who invents reports; none of them is counted.",
    ),
    Reason(
        "malformed",
        "The body is not a report at all.",
        "Look for a broken client or a proxy that changes bodies; strangers who try addresses are here, too.",
    ),
)
