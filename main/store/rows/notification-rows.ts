import type { Database } from 'better-sqlite3';
import type {
  Channel,
  Delivery,
  NotificationReads,
  NotificationWrites,
  PushKeys,
  Rule,
} from '../../orchestrator/ports/index.ts';

interface FactRow {
  /** The whole object as JSON. The other columns repeat the fields that queries need. */
  readonly fact: string;
}

/** An object as an earlier version may have stored it: without the fields `K`. */
type Earlier<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

const parseChannel = ({ fact }: FactRow): Channel => ({
  enabled: true,
  subscriber: null,
  ...(JSON.parse(fact) as Earlier<Channel, 'enabled' | 'subscriber'>),
});
const parseRule = ({ fact }: FactRow): Rule => ({ tag: null, ...(JSON.parse(fact) as Earlier<Rule, 'tag'>) });
const parseDelivery = ({ fact }: FactRow): Delivery => JSON.parse(fact) as Delivery;

/** Notification channels, rules, and the outbox. */
export const createNotificationRows = (db: Database): NotificationReads & NotificationWrites => ({
  ...channelRows(db),
  ...pushKeyRows(db),
  ...deliveryReads(db),
  ...deliveryWrites(db),
});

function channelRows(db: Database) {
  const all = db.prepare<[], FactRow>('SELECT fact FROM notification_channels ORDER BY ord');
  const byId = db.prepare<[string], FactRow>('SELECT fact FROM notification_channels WHERE id = ?');
  const put = db.prepare<[string, string]>(
    'INSERT INTO notification_channels (id, fact) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET fact = excluded.fact',
  );
  const rules = db.prepare<[], FactRow>('SELECT fact FROM notification_rules ORDER BY ord');
  const putRule = db.prepare<[string, string, string]>(
    `INSERT INTO notification_rules (id, channel_id, fact) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET channel_id = excluded.channel_id, fact = excluded.fact`,
  );
  const removeRule = db.prepare<[string]>('DELETE FROM notification_rules WHERE id = ?');
  const removals = [
    'notification_rules WHERE channel_id',
    'deliveries WHERE channel_id',
    'notification_channels WHERE id',
  ].map(rows => db.prepare<[string]>(`DELETE FROM ${rows} = ?`));
  return {
    channels: () => all.all().map(parseChannel),
    channel(id: Channel['id']) {
      const row = byId.get(id);
      return row === undefined ? null : parseChannel(row);
    },
    putChannel: (channel: Channel) => void put.run(channel.id, JSON.stringify(channel)),
    removeChannel(id: Channel['id']) {
      for (const removal of removals) removal.run(id);
    },
    notificationRules: () => rules.all().map(parseRule),
    putNotificationRule: (rule: Rule) => void putRule.run(rule.id, rule.channelId, JSON.stringify(rule)),
    removeNotificationRule: (id: Rule['id']) => void removeRule.run(id),
  };
}

function pushKeyRows(db: Database) {
  const read = db.prepare<[], FactRow>('SELECT fact FROM push_keys');
  const put = db.prepare<[string]>('INSERT INTO push_keys (id, fact) VALUES (1, ?)');
  return {
    pushKeys() {
      const row = read.get();
      return row === undefined ? null : (JSON.parse(row.fact) as PushKeys);
    },
    putPushKeys: (keys: PushKeys) => void put.run(JSON.stringify(keys)),
  };
}

function deliveryReads(db: Database) {
  const newest = db.prepare<[number], FactRow>('SELECT fact FROM deliveries ORDER BY ord DESC LIMIT ?');
  const newestIn = db.prepare<[string, number], FactRow>(
    'SELECT fact FROM deliveries WHERE state = ? ORDER BY ord DESC LIMIT ?',
  );
  const pending = db
    .prepare<[string], number>("SELECT count(*) FROM deliveries WHERE channel_id = ? AND state = 'pending'")
    .pluck();
  const nextDue = db
    .prepare<[], number | null>("SELECT min(due_at) FROM deliveries WHERE state = 'pending'")
    .pluck();
  const next = db.prepare<[string, number], FactRow>(
    `SELECT fact FROM deliveries AS one WHERE channel_id = ? AND state = 'pending' AND due_at <= ?
     AND NOT EXISTS (SELECT 1 FROM deliveries AS earlier WHERE earlier.channel_id = one.channel_id
       AND earlier.state = 'pending' AND earlier.subject = one.subject AND earlier.ord < one.ord)
     ORDER BY ord LIMIT 1`,
  );
  return {
    deliveries: (state: Delivery['state'] | null, limit: number) =>
      (state === null ? newest.all(limit) : newestIn.all(state, limit)).map(parseDelivery),
    pendingDeliveries: (channel: Channel['id']) => pending.get(channel) ?? 0,
    nextDueAt: () => nextDue.get() ?? null,
    nextDelivery(channel: Channel['id'], now: number) {
      const row = next.get(channel, now);
      return row === undefined ? null : parseDelivery(row);
    },
  };
}

function deliveryWrites(db: Database) {
  const insert = db.prepare<[Record<string, unknown>]>(
    `INSERT OR IGNORE INTO deliveries (id, channel_id, occasion, subject, state, due_at, fact)
     VALUES (@id, @channelId, @occasion, @subject, @state, @dueAt, @fact)`,
  );
  const update = db.prepare<[Record<string, unknown>]>(
    'UPDATE deliveries SET state = @state, due_at = @dueAt, fact = @fact WHERE id = @id',
  );
  const trim = db.prepare<[number]>(
    `DELETE FROM deliveries WHERE state <> 'pending' AND ord <= (
       SELECT ord FROM deliveries WHERE state <> 'pending' ORDER BY ord DESC LIMIT 1 OFFSET ?)`,
  );
  return {
    insertDelivery(delivery: Delivery) {
      const { id, channelId, occasion, subject, state, dueAt } = delivery;
      insert.run({ id, channelId, occasion, subject, state, dueAt, fact: JSON.stringify(delivery) });
    },
    updateDelivery(delivery: Delivery) {
      const { id, state, dueAt } = delivery;
      update.run({ id, state, dueAt, fact: JSON.stringify(delivery) });
    },
    trimDeliveries: (maxDeliveries: number) => void trim.run(maxDeliveries),
  };
}
