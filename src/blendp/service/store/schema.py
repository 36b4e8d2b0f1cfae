"""The tables. Nothing here tells who sent a report, from where, or at what time of the day.

Operators' acts alone are kept with their time, in ``audit``: rows are added, never changed or deleted.

A campaign's states, each reached from the one before:

    opt-in     takes records of opt-in people
    listing    asks everybody to come back: the list is being made; back to opt-in if that fails
    reporting  the list is public; takes clients' reports
    closing    asks clients to come back: reports are counted; back to reporting if that fails
    signing    as closing, and whoever wants a report deleted is asked to come back, too: seconds
    released   the result is public; records, reports and pseudonyms are gone
    deleted    everything is gone but the name, which is never used again (from any state)
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
)

from blendp.service.store.partitions import PARTITIONED_BY
from blendp.wire.index import STATES as TOLD_STATES

STATES = (*TOLD_STATES, "deleted")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

_DAY = String(10)

campaign = Table(
    "campaign",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("state", String(16), nullable=False),
    Column("revision", Integer, nullable=False, comment="grows with every list or result that is begun"),
)

document = Table(
    "document",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("kind", String(16), primary_key=True, comment="terms, manifest, list, listed, release"),
    Column("payload", LargeBinary, nullable=False),
)
"""With a release also its index and index-descriptor; the comment in the database is that of the first schema."""

signature = Table(
    "signature",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("key", String(16), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

enrolment = Table(
    "enrolment",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("token", LargeBinary, primary_key=True, comment="SHA-256 of the one-time token"),
    Column("state", String(16), nullable=False, comment="unused, used, deleted"),
    Column("sealed", LargeBinary, comment="the records, encrypted with a key that is no part of this database"),
    Column("nonce", LargeBinary, comment="SHA-256 of what the device drew to have its retries known by"),
    Index("ix_enrolment_campaign", "campaign", "state"),
)

opt_in_intake = Table(
    "opt_in_intake",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("day", _DAY, primary_key=True),
    Column("count", BigInteger, nullable=False, comment="people whose records were accepted on this day"),
)

report = Table(
    "report",
    metadata,
    Column("campaign", Integer, primary_key=True),
    Column("report_id", LargeBinary, nullable=False),
    Column("pseudonym", LargeBinary, primary_key=True, comment="keyed hash; the key is no part of this database"),
    Column("question", SmallInteger, nullable=False),
    Column("data", LargeBinary, comment="the randomised report; NULL if deleted on request"),
    postgresql_partition_by=PARTITIONED_BY,
    sqlite_with_rowid=False,
)

pending_deletion = Table(
    "pending_deletion",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("pseudonym", LargeBinary, primary_key=True, comment="its deletion was asked for while reports are counted"),
)

intake = Table(
    "intake",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.number"), primary_key=True),
    Column("day", _DAY, primary_key=True),
    Column("outcome", String(32), primary_key=True),
    Column(
        "slot", SmallInteger, primary_key=True, autoincrement=False, comment="processes count in slots of their own"
    ),
    Column("count", BigInteger, nullable=False),
)

operator_token = Table(
    "operator_token",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("scopes", String(100), nullable=False),
    Column("hash", String(200), nullable=False),
    Column("created", _DAY, nullable=False),
    Column("revoked", _DAY),
)

heartbeat = Table(
    "heartbeat",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False, comment="always 1"),
    Column("value", LargeBinary, nullable=False, comment="random bytes, written to see whether the store can write"),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("number", Integer, nullable=False, unique=True, comment="1 for the first key, and so on"),
    Column("public", String(64), nullable=False),
    Column("since", _DAY, nullable=False),
    Column("until", _DAY),
    Column("statement", LargeBinary, comment="how the key before vouches for this one"),
)

known_day = Table(
    "known_day",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False, comment="always 1: there is one row"),
    Column("day", _DAY, nullable=False, comment="the latest day that was believed"),
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("time", String(20), nullable=False, comment="to the second: operators' acts are not people's data"),
    Column("actor", String(16), nullable=False, comment="token, local, itself"),
    Column("token", String(16), comment="the id of the token"),
    Column("name", String(100), comment="whose token it is"),
    Column("act", String(32), nullable=False),
    Column("campaign", String(64), index=True),
    Column("outcome", String(32), nullable=False, comment="done, or why not"),
    Column("detail", String(300), nullable=False),
    sqlite_autoincrement=True,
)
