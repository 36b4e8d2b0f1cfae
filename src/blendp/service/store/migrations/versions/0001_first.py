"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "campaign",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, comment="grows with every list or result that is begun"),
        sa.PrimaryKeyConstraint("number", name="pk_campaign"),
        sa.UniqueConstraint("name", name="uq_campaign_name"),
    )
    op.create_table(
        "document",
        _campaign_column(),
        sa.Column("kind", sa.String(16), nullable=False, comment="terms, manifest, list, listed, release"),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "kind", name="pk_document"),
        _campaign_key("document"),
    )
    op.create_table(
        "signature",
        _campaign_column(),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(16), nullable=False),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "kind", "key", name="pk_signature"),
        _campaign_key("signature"),
    )
    op.create_table(
        "enrolment",
        _campaign_column(),
        sa.Column("token", sa.LargeBinary, nullable=False, comment="SHA-256 of the one-time token"),
        sa.Column("state", sa.String(16), nullable=False, comment="unused, used, deleted"),
        sa.Column(
            "sealed", sa.LargeBinary, comment="the records, encrypted with a key that is no part of this database"
        ),
        sa.Column("nonce", sa.LargeBinary, comment="SHA-256 of what the device drew to have its retries known by"),
        sa.PrimaryKeyConstraint("campaign", "token", name="pk_enrolment"),
        _campaign_key("enrolment"),
    )
    op.create_table(
        "report",
        _campaign_column(),
        sa.Column("report_id", sa.LargeBinary, nullable=False),
        sa.Column(
            "pseudonym", sa.LargeBinary, nullable=False, comment="keyed hash; the key is no part of this database"
        ),
        sa.Column("question", sa.SmallInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, comment="the randomised report; NULL if deleted on request"),
        sa.PrimaryKeyConstraint("campaign", "pseudonym", name="pk_report"),
        postgresql_partition_by="LIST (campaign)",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pending_deletion",
        _campaign_column(),
        sa.Column(
            "pseudonym", sa.LargeBinary, nullable=False, comment="its deletion was asked for while reports are counted"
        ),
        sa.PrimaryKeyConstraint("campaign", "pseudonym", name="pk_pending_deletion"),
        _campaign_key("pending_deletion"),
    )
    op.create_table(
        "intake",
        _campaign_column(),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("slot", sa.SmallInteger, nullable=False, comment="processes count in slots of their own"),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "day", "outcome", "slot", name="pk_intake"),
        _campaign_key("intake"),
    )
    op.create_table(
        "operator_token",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(200), nullable=False),
        sa.Column("created", sa.String(10), nullable=False),
        sa.Column("revoked", sa.String(10)),
        sa.PrimaryKeyConstraint("id", name="pk_operator_token"),
    )
    op.create_table(
        "heartbeat",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False, comment="always 1"),
        sa.Column(
            "value", sa.LargeBinary, nullable=False, comment="random bytes, written to see whether the store can write"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_heartbeat"),
    )
    op.create_table(
        "signing_key",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("number", sa.Integer, nullable=False, comment="1 for the first key, and so on"),
        sa.Column("public", sa.String(64), nullable=False),
        sa.Column("since", sa.String(10), nullable=False),
        sa.Column("until", sa.String(10)),
        sa.Column("statement", sa.LargeBinary, comment="how the key before vouches for this one"),
        sa.PrimaryKeyConstraint("id", name="pk_signing_key"),
        sa.UniqueConstraint("number", name="uq_signing_key_number"),
    )
    op.create_table(
        "known_day",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False, comment="always 1: there is one row"),
        sa.Column("day", sa.String(10), nullable=False, comment="the latest day that was believed"),
        sa.PrimaryKeyConstraint("number", name="pk_known_day"),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column(
            "time", sa.String(20), nullable=False, comment="to the second: operators' acts are not people's data"
        ),
        sa.Column("actor", sa.String(16), nullable=False, comment="token, local, itself"),
        sa.Column("token", sa.String(16), comment="the id of the token"),
        sa.Column("name", sa.String(100), comment="whose token it is"),
        sa.Column("act", sa.String(32), nullable=False),
        sa.Column("campaign", sa.String(64)),
        sa.Column("outcome", sa.String(32), nullable=False, comment="done, or why not"),
        sa.Column("detail", sa.String(300), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_campaign", "audit", ["campaign"])


def _campaign_column() -> sa.Column[int]:
    return sa.Column("campaign", sa.Integer, nullable=False)


def _campaign_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["campaign"], ["campaign.number"], name=f"fk_{table}_campaign")
