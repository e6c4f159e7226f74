"""Repeats: the keys that acts came with, and what was answered to each."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table of keys."""
    op.create_table(
        "repeats",
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("record", sa.String(64), nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_repeats_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delegation", "tool", "key", name="pk_repeats"),
    )
