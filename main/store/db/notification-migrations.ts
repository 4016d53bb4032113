/** Adds notification channels, their rules, and the outbox of their deliveries. */
export const notificationMigrations: readonly string[] = [
  `
  CREATE TABLE notification_channels (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    -- Contains secrets.
    fact TEXT NOT NULL
  ) STRICT;
  CREATE TABLE notification_rules (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    channel_id TEXT NOT NULL REFERENCES notification_channels (id),
    fact TEXT NOT NULL
  ) STRICT;
  CREATE TABLE deliveries (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    channel_id TEXT NOT NULL REFERENCES notification_channels (id),
    occasion TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    fact TEXT NOT NULL,
    UNIQUE (channel_id, occasion)
  ) STRICT;
  CREATE INDEX deliveries_pending ON deliveries (channel_id, subject, ord) WHERE state = 'pending';
  CREATE INDEX deliveries_state ON deliveries (state, ord);
  `,
];

/** Adds the key pair of web push. Backups contain it, because the subscriptions of browsers are bound to it. */
export const pushMigrations: readonly string[] = [
  `
  CREATE TABLE push_keys (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Contains a secret.
    fact TEXT NOT NULL
  ) STRICT;
  `,
];
