"""What Alembic runs: revisions on the connection that `upgrade` opened, in its transaction."""

from alembic import context

from discreet.serve.queue.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata,
                  transactional_ddl=True, render_as_batch=True)
context.run_migrations()
