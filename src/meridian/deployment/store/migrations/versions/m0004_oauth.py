"""Clients that ask by OAuth, what they asked, and tokens that are renewed; delegations of everything, and the acts shown."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


COUNT = "UPDATE revision SET number = number + 1"
COUNTED = {
    "delegations": (
        "id", "subject", "client_name", "client", "everything", "acts_kept", "made_by", "made_at", "expires_at", "revoked_at",
        "revoked_by",
    ),
    "tokens": ("fingerprint", "delegation", "kind", "resource", "made_at", "expires_at"),
    "delegation_acts": ("delegation", "instance", "tool"),
}  # fmt: skip
"""The tables whose change counts the revision on, and the columns: not when a token was spent."""


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and the columns of those there are. A delegation made before covers its rows, and acts follow them."""
    op.add_column("delegations", sa.Column("client", sa.String(500), nullable=True))
    op.add_column("delegations", sa.Column("everything", sa.Boolean(), nullable=False, server_default="0"))
    op.add_column("delegations", sa.Column("acts_kept", sa.Boolean(), nullable=False, server_default="0"))
    op.create_index("ix_delegations_client", "delegations", ["client"], unique=False)
    op.add_column("tokens", sa.Column("family", sa.String(64), nullable=True))
    op.add_column("tokens", sa.Column("resource", sa.String(500), nullable=True))
    op.add_column("tokens", sa.Column("spent_at", _moment(), nullable=True))
    op.create_table(
        "delegation_acts",
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_delegation_acts_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delegation", "instance", "tool", name="pk_delegation_acts"),
    )
    op.create_table(
        "clients",
        sa.Column("id", sa.String(500), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("redirect_uris", sa.Text(), nullable=False),
        sa.Column("described", sa.Boolean(), nullable=False),
        sa.Column("told_from", sa.String(64), nullable=False),
        sa.Column("told_at", _moment(), nullable=False),
        sa.Column("used_at", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_clients"),
    )
    op.create_index("ix_clients_told_from", "clients", ["told_from"], unique=False)
    op.create_index("ix_clients_told_at", "clients", ["told_at"], unique=False)
    op.create_table(
        "authorizations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("browser", sa.String(64), nullable=False),
        sa.Column("client", sa.String(500), nullable=False),
        sa.Column("redirect_uri", sa.String(2000), nullable=False),
        sa.Column("state", sa.String(2000), nullable=True),
        sa.Column("code_challenge", sa.String(64), nullable=False),
        sa.Column("resource", sa.String(500), nullable=False),
        sa.Column("asked_from", sa.String(64), nullable=False),
        sa.Column("asked_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("settled_at", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_authorizations"),
    )
    op.create_index("ix_authorizations_asked_from", "authorizations", ["asked_from"], unique=False)
    op.create_index("ix_authorizations_expires_at", "authorizations", ["expires_at"], unique=False)
    op.create_table(
        "codes",
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("redirect_uri", sa.String(2000), nullable=False),
        sa.Column("code_challenge", sa.String(64), nullable=False),
        sa.Column("resource", sa.String(500), nullable=False),
        sa.Column("made_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("spent_at", _moment(), nullable=True),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_codes_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_codes"),
    )
    op.create_index("ix_codes_delegation", "codes", ["delegation"], unique=False)
    for name, columns in COUNTED.items():
        _count(name, columns, new=name == "delegation_acts")


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
