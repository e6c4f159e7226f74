"""Signing in through a provider: who a person is there, and which of its groups user groups are named for."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what is known of people from a provider; those there are stay local."""
    op.add_column("people", sa.Column("issuer", sa.String(300), nullable=True))
    op.add_column("people", sa.Column("issuer_subject", sa.String(255), nullable=True))
    op.create_index("ix_people_issuer_issuer_subject", "people", ["issuer", "issuer_subject"], unique=True)
    op.add_column("user_group_members", sa.Column("given_by", sa.String(200), nullable=True))
    op.create_table(
        "provider_groups",
        sa.Column("user_group", sa.String(64), nullable=False),
        sa.Column("issuer", sa.String(300), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["user_group"], ["user_groups.id"], name="fk_provider_groups_user_group", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_group", "issuer", "name", name="pk_provider_groups"),
    )
