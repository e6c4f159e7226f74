"""Prepared changes: acts that wait for a person to make them, what became of each, and how far that was read."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_WAITS = sa.text("state IN ('prepared', 'making')")


def upgrade() -> None:
    """Add the three tables."""
    op.create_table(
        "prepared_changes",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("alike", sa.String(64), nullable=False),
        sa.Column("accounts", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("display_name", sa.String(200), nullable=False),
        sa.Column("subject_kind", sa.String(20), nullable=False),
        sa.Column("owner_subject", sa.String(80), nullable=True),
        sa.Column("delegation", sa.String(40), nullable=True),
        sa.Column("client_name", sa.String(200), nullable=True),
        sa.Column("prepared_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lapses_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("call", sa.String(40), nullable=True),
        sa.Column("making_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("made_arguments", sa.Text(), nullable=True),
        sa.Column("made_alike", sa.String(64), nullable=True),
        sa.Column("commanded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settled_by", sa.String(80), nullable=True),
        sa.Column("settled_by_name", sa.String(200), nullable=True),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_prepared_changes"),
    )
    op.create_index("ix_prepared_changes_subject", "prepared_changes", ["subject"])
    op.create_index("ix_prepared_changes_state_lapses_at", "prepared_changes", ["state", "lapses_at"])
    op.create_index(
        "ix_prepared_changes_waiting",
        "prepared_changes",
        ["instance", "tool", "alike"],
        unique=True,
        sqlite_where=_WAITS,
        postgresql_where=_WAITS,
    )
    op.create_table(
        "prepared_steps",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("change", sa.String(40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("what", sa.String(12), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("subject", sa.String(80), nullable=True),
        sa.Column("display_name", sa.String(200), nullable=True),
        sa.Column("delegation", sa.String(40), nullable=True),
        sa.Column("client_name", sa.String(200), nullable=True),
        sa.Column("call", sa.String(40), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["change"], ["prepared_changes.id"], name="fk_prepared_steps_change", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name="pk_prepared_steps"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_prepared_steps_change", "prepared_steps", ["change"])
    op.create_table(
        "inbox_places",
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["subject"], ["people.subject"], name="fk_inbox_places_subject"),
        sa.PrimaryKeyConstraint("subject", "delegation", name="pk_inbox_places"),
    )
