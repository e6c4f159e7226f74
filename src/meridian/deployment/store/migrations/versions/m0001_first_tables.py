"""The first tables: people, access, delegations, calls, and the book; and the groups that are built in."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _moment() -> sa.DateTime:
    return sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and file the built-in groups with the permission that joins them."""
    op.create_table(
        "access_groups",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("built_in", sa.Boolean(), nullable=False),
        sa.Column("all_plugins_admin", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_access_groups"),
    )
    op.create_table(
        "account_groups",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("built_in", sa.Boolean(), nullable=False),
        sa.Column("all_accounts", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_account_groups"),
    )
    op.create_table(
        "account_sets",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("ids", sa.Text(), nullable=False),
        sa.Column("kept_until", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_account_sets"),
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
    )
    op.create_table(
        "instances",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("target", sa.String(300), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("configured_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_instances"),
    )
    op.create_table(
        "keys",
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("key", sa.LargeBinary(64), nullable=False),
        sa.Column("made_at", _moment(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_keys"),
    )
    op.create_table(
        "people",
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("sign_in_name", sa.String(200), nullable=False),
        sa.Column("display_name", sa.String(200), nullable=False),
        sa.Column("password_hash", sa.String(300), nullable=True),
        sa.Column("added_at", _moment(), nullable=False),
        sa.Column("left_at", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("subject", name="pk_people"),
        sa.UniqueConstraint("sign_in_name", name="uq_people_sign_in_name"),
    )
    op.create_table(
        "sign_in_tries",
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_at", _moment(), nullable=False),
        sa.Column("locked_until", _moment(), nullable=True),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_sign_in_tries"),
    )
    op.create_table(
        "user_groups",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("built_in", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_user_groups"),
    )
    op.create_table(
        "access_group_rows",
        sa.Column("access_group", sa.String(64), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("role", sa.String(64), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.ForeignKeyConstraint(
            ["access_group"], ["access_groups.id"], name="fk_access_group_rows_access_group", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("access_group", "instance", "role", "level", name="pk_access_group_rows"),
    )
    op.create_table(
        "account_group_accounts",
        sa.Column("account_group", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_account_group_accounts_account"),
        sa.ForeignKeyConstraint(
            ["account_group"], ["account_groups.id"], name="fk_account_group_accounts_account_group", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_group", "account", name="pk_account_group_accounts"),
    )
    op.create_table(
        "delegations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("client_name", sa.String(200), nullable=False),
        sa.Column("made_by", sa.String(20), nullable=False),
        sa.Column("made_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("revoked_at", _moment(), nullable=True),
        sa.Column("revoked_by", sa.String(80), nullable=True),
        sa.Column("last_used_at", _moment(), nullable=True),
        sa.Column("last_refused_at", _moment(), nullable=True),
        sa.ForeignKeyConstraint(["revoked_by"], ["people.subject"], name="fk_delegations_revoked_by"),
        sa.ForeignKeyConstraint(["subject"], ["people.subject"], name="fk_delegations_subject"),
        sa.PrimaryKeyConstraint("id", name="pk_delegations"),
    )
    op.create_index("ix_delegations_subject", "delegations", ["subject"], unique=False)
    op.create_table(
        "entries",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("as_of", sa.Date(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("positions", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("recorded_at", _moment(), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("call", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("display_name", sa.String(200), nullable=False),
        sa.Column("subject_kind", sa.String(20), nullable=False),
        sa.Column("owner_subject", sa.String(80), nullable=True),
        sa.Column("delegation", sa.String(40), nullable=True),
        sa.Column("client_name", sa.String(200), nullable=True),
        sa.Column("tool_name", sa.String(200), nullable=True),
        sa.Column("prepared_call", sa.String(40), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_entries_account"),
        sa.PrimaryKeyConstraint("number", name="pk_entries"),
        sa.UniqueConstraint("account", "as_of", "ordinal", name="uq_entries_account_as_of_ordinal"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "links",
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("purpose", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(80), nullable=True),
        sa.Column("made_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("spent_at", _moment(), nullable=True),
        sa.ForeignKeyConstraint(["subject"], ["people.subject"], name="fk_links_subject"),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_links"),
    )
    op.create_table(
        "permissions",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("user_group", sa.String(64), nullable=False),
        sa.Column("account_group", sa.String(64), nullable=False),
        sa.Column("access_group", sa.String(64), nullable=False),
        sa.Column("built_in", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["access_group"], ["access_groups.id"], name="fk_permissions_access_group", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["account_group"], ["account_groups.id"], name="fk_permissions_account_group", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_group"], ["user_groups.id"], name="fk_permissions_user_group", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_permissions"),
        sa.UniqueConstraint(
            "user_group", "account_group", "access_group", name="uq_permissions_user_group_account_group_access_group"
        ),
    )
    op.create_index("ix_permissions_user_group", "permissions", ["user_group"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("signed_in_by", sa.String(20), nullable=False),
        sa.Column("started_at", _moment(), nullable=False),
        sa.Column("last_seen_at", _moment(), nullable=False),
        sa.ForeignKeyConstraint(["subject"], ["people.subject"], name="fk_sessions_subject"),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_sessions"),
    )
    op.create_index("ix_sessions_subject", "sessions", ["subject"], unique=False)
    op.create_table(
        "user_group_members",
        sa.Column("user_group", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.ForeignKeyConstraint(["subject"], ["people.subject"], name="fk_user_group_members_subject"),
        sa.ForeignKeyConstraint(
            ["user_group"], ["user_groups.id"], name="fk_user_group_members_user_group", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_group", "subject", name="pk_user_group_members"),
    )
    op.create_index("ix_user_group_members_subject", "user_group_members", ["subject"], unique=False)
    op.create_table(
        "calls",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.Column("acts", sa.Boolean(), nullable=False),
        sa.Column("opened_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.Column("closed_at", _moment(), nullable=True),
        sa.Column("delegation", sa.String(40), nullable=True),
        sa.Column("tool", sa.String(200), nullable=True),
        sa.Column("outcome", sa.String(20), nullable=True),
        sa.Column("reason", sa.String(60), nullable=True),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_calls_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_calls"),
    )
    op.create_index("ix_calls_delegation_opened_at", "calls", ["delegation", "opened_at"], unique=False)
    op.create_index("ix_calls_expires_at", "calls", ["expires_at"], unique=False)
    op.create_table(
        "delegation_rows",
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("instance", sa.String(64), nullable=False),
        sa.Column("role", sa.String(64), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_delegation_rows_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delegation", "instance", "role", "level", name="pk_delegation_rows"),
    )
    op.create_table(
        "tokens",
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("delegation", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("made_at", _moment(), nullable=False),
        sa.Column("expires_at", _moment(), nullable=False),
        sa.ForeignKeyConstraint(["delegation"], ["delegations.id"], name="fk_tokens_delegation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_tokens"),
    )
    op.create_index("ix_tokens_delegation", "tokens", ["delegation"], unique=False)

    _file("user_groups", id="deployment-admins", name="Deployment admins", built_in=True)
    _file("account_groups", id="all-accounts", name="All accounts", built_in=True, all_accounts=True)
    _file("access_groups", id="all-plugins-admin", name="All plugins (admin)", built_in=True, all_plugins_admin=True)
    _file(
        "permissions",
        id="built-in",
        user_group="deployment-admins",
        account_group="all-accounts",
        access_group="all-plugins-admin",
        built_in=True,
    )


def _file(table: str, **row: str | bool) -> None:
    op.bulk_insert(sa.table(table, *map(sa.column, row)), [row])
