"""What Alembic runs: the steps, on the connection and in the transaction that the store hands over."""

from alembic import context

from meridian.deployment.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
