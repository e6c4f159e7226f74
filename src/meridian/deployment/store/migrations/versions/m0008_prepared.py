"""Prepared changes: acts that wait for a person to make them, and what became of each; how far clients may go with an act, and
whose acts need a second pair of eyes."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

COUNT = "UPDATE revision SET number = number + 1"
COUNTED = {
    "access_group_rows": ("access_group", "instance", "role", "level", "clients"),
    "delegations": (
        "id", "subject", "client_name", "client", "everything", "prepares", "acts_kept", "made_by", "made_at", "expires_at",
        "revoked_at", "revoked_by",
    ),
    "delegation_rows": ("delegation", "instance", "role", "level", "prepares"),
    "act_limits": ("scope", "instance", "tool", "clients"),
    "second_pairs": ("instance", "tool", "subject"),
}  # fmt: skip
"""The tables whose change counts the revision on, and the columns: not who chose it, and when."""
NEW = ("act_limits", "second_pairs")

_WAITS = sa.text("state IN ('prepared', 'making')")


def upgrade() -> None:
    """Add the tables, and to what is granted and lent how far clients may go with it: to make, as before."""
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
    op.create_table(
        "act_limits",
        sa.Column("scope", sa.String(12), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("clients", sa.String(8), nullable=False),
        sa.Column("chosen_by", sa.String(80), nullable=False),
        sa.Column("chosen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope", "instance", "tool", name="pk_act_limits"),
    )
    op.create_table(
        "second_pairs",
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("chosen_by", sa.String(80), nullable=False),
        sa.Column("chosen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("instance", "tool", "subject", name="pk_second_pairs"),
    )
    op.add_column("access_group_rows", sa.Column("clients", sa.String(8), nullable=False, server_default="make"))
    op.add_column("delegations", sa.Column("prepares", sa.Boolean(), nullable=False, server_default="0"))
    op.add_column("delegation_rows", sa.Column("prepares", sa.Boolean(), nullable=False, server_default="0"))
    for name, columns in COUNTED.items():
        _count(name, columns, new=name in NEW)


def _count(table: str, columns: tuple[str, ...], *, new: bool) -> None:
    """Let a change of these columns count, and where the table is new, a row that comes or goes."""
    changed = f"UPDATE OF {', '.join(columns)}"
    if op.get_bind().dialect.name == "postgresql":
        if not new:
            op.execute(f"DROP TRIGGER revision_{table} ON {table}")
        op.execute(
            f"CREATE TRIGGER revision_{table} AFTER INSERT OR DELETE OR TRUNCATE OR {changed} ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION meridian_count_revision()"
        )
        return
    if not new:
        op.execute(f"DROP TRIGGER revision_{table}_update")
    for verb, event in (("insert", "INSERT"), ("delete", "DELETE"), ("update", changed)):
        if new or verb == "update":
            op.execute(f"CREATE TRIGGER revision_{table}_{verb} AFTER {event} ON {table} BEGIN {COUNT}; END")
