"""Tickets, the audit with its triggers, deliveries of the webhook, and sessions of the console."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = branch_labels = depends_on = None

APPEND_ONLY = {
    "sqlite": [f"CREATE TRIGGER audit_keeps_{event.lower()} BEFORE {event} ON audit BEGIN "
               "SELECT RAISE(ABORT, 'the audit is append-only'); END" for event in ("UPDATE", "DELETE")],
    "postgresql": [
        "CREATE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$",
        "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_keeps()"],
}


def upgrade() -> None:
    """From an empty database."""
    name, code, number = sa.String(200), sa.String(60), sa.Float
    op.create_table(
        "tickets",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("caller", name, nullable=False),
        sa.Column("caller_mark", sa.String(16), nullable=False),
        sa.Column("guard", name, nullable=False),
        sa.Column("code", code, nullable=False),
        sa.Column("policy", sa.String(400), nullable=False),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *(sa.Column(one, number, nullable=False) for one in ("opened", "deadline", "erase_at")),
        sa.Column("verdict_hash", sa.String(64), nullable=False),
        sa.Column("figures", sa.JSON, nullable=False),
        sa.Column("reserved_by", name),
        sa.Column("reserved_until", number),
        sa.Column("first_by", name),
        sa.Column("first_action", sa.String(20)),
        sa.Column("decided_by", name),
        sa.Column("decision", sa.String(20)),
        sa.Column("decision_code", code),
        sa.Column("final_at", number),
        sa.Column("recheck", sa.String(8)),
        sa.Column("tell_by", number),
        sa.Column("ended", sa.String(20)),
        sa.Column("key_name", sa.String(40)),
        *(sa.Column(one, sa.LargeBinary) for one in ("wrapped", "sealed", "edited")),
    )
    op.create_index("tickets_by_deadline", "tickets", ["status", "deadline", "id"])
    op.create_index("tickets_by_recheck", "tickets", ["recheck", "deadline"])
    op.create_index("tickets_by_erasure", "tickets", ["erase_at"])
    op.create_index("tickets_by_caller", "tickets", ["caller", "caller_mark", "opened"])
    op.create_table(
        "audit",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", number, nullable=False),
        sa.Column("ticket", sa.String(32), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("actor", name, nullable=False),
        sa.Column("action", sa.String(24), nullable=False),
        sa.Column("code", code),
        sa.Column("verdict_hash", sa.String(64), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
    )
    op.create_index("audit_by_ticket", "audit", ["ticket", "seq"])
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
    op.create_table(
        "deliveries",
        sa.Column("ticket", sa.String(32), primary_key=True),
        sa.Column("status", sa.String(12), primary_key=True),
        sa.Column("caller", name, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", number),
        sa.Column("arrived", number),
    )
    op.create_index("deliveries_due", "deliveries", ["next_at"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("key_id", name, nullable=False),
        sa.Column("key_token", sa.String(16), nullable=False),
        sa.Column("ends", number, nullable=False),
        sa.Column("groups", sa.JSON),
    )
    op.create_index("sessions_by_end", "sessions", ["ends"])
