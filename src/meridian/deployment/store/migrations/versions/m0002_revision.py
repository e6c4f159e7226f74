"""The revision: a number, counted on by triggers wherever who may ask what is changed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COUNT = "UPDATE revision SET number = number + 1"
COUNTED = {
    "people": ("subject", "sign_in_name", "display_name", "left_at"),
    "user_groups": ("id", "name", "built_in"),
    "user_group_members": ("user_group", "subject"),
    "account_groups": ("id", "name", "built_in", "all_accounts"),
    "account_group_accounts": ("account_group", "account"),
    "access_groups": ("id", "name", "built_in", "all_plugins_admin"),
    "access_group_rows": ("access_group", "instance", "role", "level"),
    "permissions": ("id", "user_group", "account_group", "access_group", "built_in"),
    "delegations": ("id", "subject", "client_name", "made_by", "made_at", "expires_at", "revoked_at", "revoked_by"),
    "delegation_rows": ("delegation", "instance", "role", "level"),
    "tokens": ("fingerprint", "delegation", "kind", "made_at", "expires_at"),
}
"""The tables that count, and the columns whose change does: not a password, nor when a client last asked."""


def upgrade() -> None:
    """Make the row, and the triggers that count; and drop an index that every call kept up and nothing looked by."""
    op.drop_index("ix_calls_expires_at", "calls")
    op.create_table(
        "revision",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_revision"),
    )
    op.bulk_insert(sa.table("revision", sa.column("id"), sa.column("number")), [{"id": 1, "number": 1}])
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    if on_postgresql:
        op.execute(
            "CREATE FUNCTION meridian_count_revision() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {COUNT}; RETURN NULL; END $$"
        )
    for table, columns in COUNTED.items():
        changed = f"UPDATE OF {', '.join(columns)}"
        if on_postgresql:
            op.execute(
                f"CREATE TRIGGER revision_{table} AFTER INSERT OR DELETE OR TRUNCATE OR {changed} ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION meridian_count_revision()"
            )
            continue
        for verb, event in (("insert", "INSERT"), ("delete", "DELETE"), ("update", changed)):
            opening = f"CREATE TRIGGER revision_{table}_{verb} AFTER {event} ON {table}"
            op.execute(f"{opening} BEGIN {COUNT}; END")
