"""How many people opted in on each day, and a way to count tokens without reading records."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a table of counts, and an index of states."""
    op.create_table(
        "opt_in_intake",
        sa.Column("campaign", sa.Integer, nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False, comment="people whose records were accepted on this day"),
        sa.PrimaryKeyConstraint("campaign", "day", name="pk_opt_in_intake"),
        sa.ForeignKeyConstraint(["campaign"], ["campaign.number"], name="fk_opt_in_intake_campaign"),
    )
    op.create_index("ix_enrolment_campaign", "enrolment", ["campaign", "state"])


def downgrade() -> None:
    """Take both away."""
    op.drop_index("ix_enrolment_campaign", "enrolment")
    op.drop_table("opt_in_intake")
