"""Where Alembic starts: it migrates the connection that it is given."""

from alembic import context

from blendp.service.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
