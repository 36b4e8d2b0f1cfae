"""A campaign's two signed documents: the terms, before anybody takes part, and the manifest, with the list.

The terms say what is asked, what is promised and until when; opt-in people see them before they send anything. The
manifest repeats the terms and adds what the opt-in group's records made: the list's hash and how clients report
against it. Every report carries the hash of its manifest. Neither document ever changes: another promise, list or
date is another campaign.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from blendp.canonical import canonical_json, is_sha256, read_canonical, sha256
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.headlist import HeadList
from blendp.normalise import RULES
from blendp.privacy import Budget
from blendp.reports import METHODS, RANDOMISER_OF_METHOD, ListScheme, client_budget, report_scheme
from blendp.texts import is_presentable
from blendp.wire.messages import FieldForm, exact_fields, field_forms, json_form
from blendp.wire.reports import Binding
from blendp.wire.text_forms import require_day

TERMS_FORMAT, MANIFEST_FORMAT = "blendp/terms/1", "blendp/manifest/1"
MANIFEST_FORMAT_2 = "blendp/manifest/2"
"""Of manifests that say how clients report, because it is not as the method has it in the first format."""


CAMPAIGN_PATTERN = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
"""The names that campaigns may have in addresses."""

_ID = re.compile(CAMPAIGN_PATTERN)
MIN_GRACE_DAYS, MAX_GRACE_DAYS = 3, 90
"""A clock may be three days fast before a collector doubts it: with fewer, it could act before people's last day."""

OBJECTIVES = ("balanced", "long-list", "trends")
"""What a result can be best at."""

_MAX_PEOPLE = 1_000_000_000
_SMALL = "Below 100 single people come into sight."


def _text(max_length: int, description: str, remedy: str) -> Meta:
    return Meta(min_length=1, max_length=max_length, description=description, extra={"remedy": remedy})


def _day(description: str) -> Meta:
    return Meta(description=description, extra_json_schema={"format": "date"})


def _count(description: str, remedy: str) -> Meta:
    return Meta(ge=1, le=_MAX_PEOPLE, description=description, extra={"remedy": remedy})


def _choice(choices: Sequence[str | int], description: str) -> Meta:
    return Meta(description=description, extra_json_schema={"enum": list(choices)})


@dataclass(frozen=True)
class Terms:
    """What a campaign asks and promises; fixed and signed before anybody takes part.

    A field is defined here alone: what collectors accept, what the OpenAPI document says, and the options of
    ``blendp campaign create`` follow from its type, its bounds, its default and its description.
    """

    campaign: Annotated[
        str,
        Meta(
            pattern=CAMPAIGN_PATTERN,
            description="The campaign's name in addresses: lower-case letters, digits and hyphens.",
            examples=["trends-2026-11"],
        ),
    ]
    title: Annotated[str, _text(200, "What is asked, for people.", "Say what is asked.")]
    organisation: Annotated[str, _text(200, "Who asks, and answers for what is promised here.", "Say who asks.")]
    purpose: Annotated[str, _text(1000, "What the result is used for.", "Say what the result is used for.")]
    contact: Annotated[
        str,
        _text(
            200,
            "Where people reach the organisation: a mail address, a page, a telephone number.",
            "Say where people can ask and complain.",
        ),
    ]
    opens: Annotated[str, _day("The first day (UTC) on which opt-in records are taken.")]
    opt_in_until: Annotated[str, _day("The last day on which opt-in records are taken.")]
    reports_until: Annotated[str, _day("The last day on which clients' reports are taken.")]
    grace_days: Annotated[
        int,
        Meta(
            ge=MIN_GRACE_DAYS,
            le=MAX_GRACE_DAYS,
            description="Days after each of the two last days that an operator has to act. Then the collector does it "
            "by itself: it publishes the list, or releases the result, if there are people enough, and deletes the "
            "campaign if there are not.",
            extra={"remedy": "7 is usual.", "too_many": "Records are not kept longer than needed."},
        ),
    ] = 7
    method: Annotated[str, _choice(METHODS, "blendp, or published: BLENDER with its errata mended.")] = "blendp"
    epsilon: Annotated[
        float,
        Meta(gt=0, le=50, description="The privacy loss each person is promised at most; the same for both groups."),
    ] = 4.0
    delta: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="By how much the probability of any result may exceed e^epsilon times what it is with other "
            "records of a person; keep it far below one over the clients.",
        ),
    ] = 1e-6
    """A record that one person alone holds is listed with at most this probability. Clients spend it where they report
    by the published two-stage randomiser; a campaign of the blendp method has them report subsets, with delta 0."""

    levels: Annotated[int, _choice((1, 2), "2 for <query, URL> records, 1 for queries alone.")] = 2
    normalise: Annotated[str, _choice(RULES, "The rule of normal text that devices apply: blendp-1 or none.")] = (
        "blendp-1"
    )
    size: (
        Annotated[
            int,
            _count(
                "How many records the list keeps at most; null keeps all that pass.",
                "Ask for at least one record; None keeps all.",
            ),
        ]
        | None
    ) = 50
    opt_in_records: Annotated[
        int,
        _count(
            "The contribution bound: how many records an opt-in person sends at most, drawn at random. With more than "
            "1 the blendp method makes the list of all that were sent, or of one of each person, whichever lists more. "
            "Left out, it is 100, or 1 where one is all that is used.",
            "100 is usual; 1 asks for one record of each person.",
        ),
    ] = 100
    min_opt_in: Annotated[
        int, _count("No list is published before so many opt-in people have sent their records.", _SMALL)
    ] = 100
    min_clients: Annotated[int, _count("No result is released before so many clients have reported.", _SMALL)] = 1000
    expected_clients: Annotated[
        int, _count("How many clients are expected; what they are asked is tuned to it.", "A guess will do.")
    ] = 10_000
    participation: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="The share of the clients who take part: each device draws once, and keeps silent if it was "
            "not drawn.",
        ),
    ] = 1.0
    objective: Annotated[
        str,
        _choice(
            OBJECTIVES, "What is to be best: balanced, long-list, or trends: the most frequent queries (blendp method)."
        ),
    ] = "balanced"
    records_per_person: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=_MAX_PEOPLE,
                description="How many records a person has on average, if that is known: it decides whether the list "
                "is made of one record of each person or of many. It is rounded to one digit and public: a mean "
                "taken from a log is not private. If it is null, 2 % of epsilon are spent on a noisy mean (blendp "
                "method).",
            ),
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        """Refuse terms that nobody could keep."""
        require_campaign_id(self.campaign)
        for form in _forms():
            _require_bounds(form, getattr(self, form.name))
        opens, opt_in, reports = (
            require_day(name, getattr(self, name)) for name in ("opens", "opt_in_until", "reports_until")
        )
        if not opens <= opt_in <= reports:
            raise ParameterError(
                "reports_until",
                f"{self.opens}, {self.opt_in_until}, {self.reports_until}",
                "in the order opens, opt_in_until, reports_until",
                "Opt-in people come first, then the clients.",
            )
        self._require_grace()
        require_choice("method", self.method, METHODS)
        Budget(self.epsilon, self.delta)
        if type(self.levels) is not int or self.levels not in (1, 2):
            raise ParameterError("levels", self.levels, "1 or 2", "2 is for <query, URL> records, 1 for queries alone.")
        require_choice("normalise", self.normalise, RULES)
        require_number(
            "participation",
            self.participation,
            above=0,
            max_value=1,
            legal="above 0 and at most 1",
            remedy="1 asks every client.",
        )
        require_choice("objective", self.objective, OBJECTIVES)
        if self.records_per_person is not None:
            require_number(
                "records_per_person",
                self.records_per_person,
                above=0,
                max_value=_MAX_PEOPLE,
                legal=f"above 0 and at most {_MAX_PEOPLE}",
                remedy="It is a mean; leave it out if it is not known.",
            )

    def _require_grace(self) -> None:
        """Refuse days of grace after which no client could report, or that the calendar does not have."""
        try:
            in_time = self.records_kept_until < self.reports_until <= self.reports_kept_until
        except OverflowError:
            in_time = False
        if not in_time:
            raise ParameterError(
                "reports_until",
                self.reports_until,
                f"more than grace_days = {self.grace_days} after opt_in_until = {self.opt_in_until}",
                "The list may be published as late as that, and clients need a day to report.",
            )

    @property
    def records_kept_until(self) -> str:
        """The last day on which opt-in people's records may still be kept."""
        return self._after_grace("opt_in_until")

    @property
    def reports_kept_until(self) -> str:
        """The last day on which clients' reports may still be kept."""
        return self._after_grace("reports_until")

    def _after_grace(self, deadline: str) -> str:
        last = require_day(deadline, getattr(self, deadline)) + datetime.timedelta(days=self.grace_days)
        return last.isoformat()

    @property
    def budget(self) -> Budget:
        """What each person is promised."""
        return Budget(self.epsilon, self.delta)

    @property
    def client_budget(self) -> Budget:
        """What a client's one report costs: delta is spent by the published two-stage randomiser, not by subsets."""
        return client_budget(RANDOMISER_OF_METHOD[self.method], self.budget)

    def scheme(self, head_list: HeadList, query_share: float, randomiser: str | None = None) -> ListScheme:
        """How clients report about a list under these terms; by the method's own randomiser unless another is said."""
        return report_scheme(head_list, randomiser or RANDOMISER_OF_METHOD[self.method], self.budget, query_share)

    def to_bytes(self) -> bytes:
        """The canonical bytes, which are signed."""
        return canonical_json({"format": TERMS_FORMAT, **self.to_plain()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From canonical bytes; refuses any other form."""
        return cls.of_plain(read_canonical(data, "terms", TERMS_FORMAT))

    def to_plain(self) -> dict[str, Any]:
        """As plain values; what was added to the format is in it only where it is not as usual."""
        added = _added()
        return {name: value for name, value in asdict(self).items() if name not in added or value != added[name]}

    @classmethod
    def of_plain(cls, value: Mapping[str, Any]) -> Self:
        """From plain values, the format left aside."""
        added = _added()
        for name, usual in added.items():
            if name in value and value[name] == usual:
                raise ParameterError(name, usual, "left out where it is as usual", "One value has one spelling.")
        return cls(**exact_fields(cls, {**added, **value}, "terms"))

    @property
    def sha256(self) -> str:
        """The name of these terms."""
        return sha256(self.to_bytes())


@dataclass(frozen=True)
class Manifest:
    """The terms and the list: all that a client needs to report, and all that a report is bound to."""

    terms: Terms
    list_sha256: str
    """The name of the head list."""

    records: int
    """How many records are on the list."""

    opt_in_people: int
    """How many people made the list; public."""

    query_share: float
    """blendp: the share of the clients who report the query, the others the record. published: f_C."""

    published: str
    """The day on which the list was published."""

    randomiser: str = ""
    """How clients report, if it is not as the method's usually do (split, two-stage): apart, in the blendp method."""

    def __post_init__(self) -> None:
        """Refuse a manifest that does not keep its own terms."""
        require_choice("randomiser", self.randomiser, ("", "apart") if self.terms.method == "blendp" else ("",))
        if not is_sha256(self.list_sha256):
            raise ParameterError("list_sha256", self.list_sha256, "64 hexadecimal digits", "Publish the list anew.")
        require_count("records", self.records, min_value=0, remedy="Publish the list anew.")
        require_count("opt_in_people", self.opt_in_people, min_value=self.terms.min_opt_in, remedy="Wait for more.")
        require_number(
            "query_share",
            self.query_share,
            min_value=0,
            max_value=1,
            legal="from 0 to 1",
            remedy="Publish the list anew.",
        )
        require_day("published", self.published)

    @property
    def client_randomiser(self) -> str:
        """How clients report, by name."""
        return self.randomiser or RANDOMISER_OF_METHOD[self.terms.method]

    def to_bytes(self) -> bytes:
        """The canonical bytes, which are signed: in the first format, or in the second if clients report otherwise than
        they did when there was only that.
        """
        value = {**asdict(self), "terms": self.terms.to_plain()}
        if not self.randomiser:
            del value["randomiser"]
            return canonical_json({"format": MANIFEST_FORMAT, **value})
        return canonical_json({"format": MANIFEST_FORMAT_2, **value})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From canonical bytes; refuses any other form."""
        value = read_canonical(data, "manifest", MANIFEST_FORMAT, MANIFEST_FORMAT_2)
        second, terms = value["format"] == MANIFEST_FORMAT_2, value.get("terms")
        if not isinstance(terms, dict) or "format" in terms:
            raise ParameterError("terms", terms, "an object of the fields of terms alone", "Fetch the manifest again.")
        if second == ("randomiser" not in value):
            legal = "a member of the second format, and of no other"
            raise ParameterError("manifest", value.get("randomiser"), legal, "Fetch the manifest again.")
        whole = {"randomiser": "", **value, "terms": Terms.of_plain(terms)}
        manifest = cls(**exact_fields(cls, whole, "manifest"))
        if second and not manifest.randomiser:
            raise ParameterError("randomiser", "", "apart in the second format", "Fetch the manifest again.")
        return manifest

    @property
    def sha256(self) -> str:
        """The name of this manifest, which every report carries."""
        return sha256(self.to_bytes())

    def scheme(self, head_list: HeadList) -> ListScheme:
        """How clients report; raises unless this is the list of this manifest, and clients can report about it."""
        self.require_list(head_list)
        return self.terms.scheme(head_list, self.query_share, self.client_randomiser)

    def binding(self, head_list: HeadList) -> Binding:
        """What clients' reports are bound to: this manifest, and the way in which it has them drawn."""
        return Binding(self.sha256, self.scheme(head_list).identity(self.sha256))

    def require_list(self, head_list: HeadList) -> None:
        """Raise unless this is the list of this manifest."""
        if head_list.sha256 != self.list_sha256:
            raise ParameterError("head list", head_list.sha256, self.list_sha256, "Fetch the list again.")
        if head_list.records != self.records or head_list.levels != self.terms.levels:
            sizes = f"{self.records} records of {self.terms.levels} levels"
            raise ParameterError(
                "head list", str(head_list), sizes, "The manifest contradicts its list: do not use it."
            )


def require_campaign_id(value: object) -> None:
    """Raise unless this can name a campaign."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        legal = "1 to 64 lower-case letters, digits and inner hyphens"
        raise ParameterError("campaign", value, legal, "For instance trends-2026-11.")


@cache
def _forms() -> tuple[FieldForm, ...]:
    return tuple(field_forms(Terms).values())


@cache
def _added() -> Mapping[str, Any]:
    """Fields that terms of this format did not have at first, and what terms mean that leave them out.

    So terms that were signed before stay what they were, byte for byte, and clients who do not know these fields take
    part in campaigns that do without.
    """
    return {form.name: form.default for form in _forms() if form.name in ("objective", "records_per_person")}


def _require_bounds(form: FieldForm, value: Any) -> None:
    """Raise unless a text or a count of the terms is within its bounds."""
    meta, remedy = form.meta, (form.meta.extra or {}).get("remedy", "")
    if meta.max_length is not None:
        length = meta.max_length
        if not isinstance(value, str) or not is_presentable(value, length):
            raise ParameterError(form.name, value, f"1 to {length} printable characters", remedy)
    elif form.kind in (int, int | None) and meta.ge is not None and not (value is None and form.kind is not int):
        require_count(form.name, value, min_value=int(meta.ge), remedy=remedy)
        if value > (meta.le or 0):
            too_many = (meta.extra or {}).get("too_many", "Fewer people are on earth.")
            raise ParameterError(form.name, "a larger number", f"at most {meta.le}", too_many)


NewTerms = json_form(Terms, "NewTerms", "The terms of a new campaign; what is left out is as usual.")
"""What operators send."""


def read_new_terms(body: bytes) -> dict[str, Any]:
    """The fields that a body gives, of the right types; whether they are within their bounds, :class:`Terms` says."""
    try:
        given: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(body, type=NewTerms))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ParameterError("body", f"{len(body)} bytes", "terms as the documentation says", f"{error}.") from error
    return given
