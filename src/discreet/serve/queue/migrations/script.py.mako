"""${message}."""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = depends_on = None


def upgrade() -> None:
    """From the revision before to this one."""
    ${upgrades if upgrades else "pass"}
