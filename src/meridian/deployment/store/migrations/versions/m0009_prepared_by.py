"""Entries say who prepared the change that they were made by."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the name; nothing was made by a prepared change before."""
    op.add_column("entries", sa.Column("prepared_by", sa.String(200), nullable=True))
