"""What travels between a collector, its clients and its operators: one form each, the same bytes everywhere."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.wire.campaign import Manifest, Terms
    from blendp.wire.envelope import Envelope, Signature, SigningKey, VerifyKey
    from blendp.wire.problems import PROBLEMS, Problem
    from blendp.wire.reports import UploadedReport

__all__ = [
    "PROBLEMS",
    "Envelope",
    "Manifest",
    "Problem",
    "Signature",
    "SigningKey",
    "Terms",
    "UploadedReport",
    "VerifyKey",
]

_HOMES = {
    "blendp.wire.campaign": ("Manifest", "Terms"),
    "blendp.wire.envelope": ("Envelope", "Signature", "SigningKey", "VerifyKey"),
    "blendp.wire.problems": ("PROBLEMS", "Problem"),
    "blendp.wire.reports": ("UploadedReport",),
}
"""Where each name lives: who writes a release loads no campaign and no keys."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
