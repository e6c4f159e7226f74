"""The revision no longer counts a token that is made: nothing was worked out of it before, and clients renew theirs often."""

from alembic import op

revision = "0007"
down_revision = "0006"

COUNTED = ("fingerprint", "delegation", "kind", "resource", "made_at", "expires_at")


def upgrade() -> None:
    """Let a token count where it changes or goes, and not where it comes."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER revision_tokens ON tokens")
        op.execute(
            f"CREATE TRIGGER revision_tokens AFTER DELETE OR TRUNCATE OR UPDATE OF {', '.join(COUNTED)} ON tokens "
            "FOR EACH STATEMENT EXECUTE FUNCTION meridian_count_revision()"
        )
        return
    op.execute("DROP TRIGGER revision_tokens_insert")
