"""Limits: how many calls a delegation has under way and made in a minute, and the acts of the last minute."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_UNDER_WAY = sa.text("closed_at IS NULL")


def upgrade() -> None:
    """Add an index of the calls under way, the counts, and the acts of the last minute."""
    op.create_index("ix_calls_under_way", "calls", ["delegation"], sqlite_where=_UNDER_WAY, postgresql_where=_UNDER_WAY)
    op.create_table(
        "call_minutes",
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_call_minutes_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delegation", name="pk_call_minutes"),
    )
    op.create_table(
        "recent_acts",
        sa.Column("call", sa.String(40), nullable=False),
        sa.Column("mark", sa.String(64), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["call"], ["calls.id"], name="fk_recent_acts_call", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("call", name="pk_recent_acts"),
    )
    op.create_index("ix_recent_acts_mark", "recent_acts", ["mark"])
    op.create_index("ix_recent_acts_opened_at", "recent_acts", ["opened_at"])
