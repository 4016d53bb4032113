import { z } from 'zod';
import { call } from './call.ts';
import { UiEvent } from './events.ts';
import { WorkerId } from './ids.ts';
import { Labels } from './labels.ts';
import { Line } from './line.ts';
import { WorkerStatus, WorkerType, WorkerView } from './worker.ts';

const byWorker = z.object({ id: WorkerId });

const Name = Line.trim().min(1, 'a name is needed').max(100);

export const NewWorker = z.object({
  name: Name,
  /** Decides what happens to the row when the worker is gone; the milder of the two unless told. */
  worker_type: WorkerType.default('persistent'),
  labels: Labels.default({}),
});
export type NewWorker = z.output<typeof NewWorker>;

const WorkerChange = z
  .strictObject({
    name: Name.optional(),
    /** All of them: what is left out is taken away. */
    labels: Labels.optional(),
  })
  .refine(body => body.name !== undefined || body.labels !== undefined, 'a name, or labels, are needed');
export type WorkerChange = z.output<typeof WorkerChange>;

/** The guide prints the token only here: it can't be read again. */
const Issued = z.object({
  worker_id: WorkerId,
  token: z.string(),
  name: z.string(),
  connection_command: z.string(),
});

/** As with `Issued`, the secret is given only here. */
const IssuedJoinToken = z.object({
  worker_id: WorkerId,
  name: z.string(),
  /** `tj_...`: makes one machine this worker, once. */
  join_token: z.string(),
  expires_at: z.iso.datetime(),
  /** For a machine on which the worker program is. */
  connection_command: z.string(),
  /** For one with a shell and nothing else: one line that fetches the program, too. Null where it was not built. */
  install_command: z.string().nullable().default(null),
});

/** Administration of workers: people and scripts, with `Authorization: Bearer`. */
export const workersApi = {
  list: call({
    method: 'GET',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'List the workers',
    query: z.object({
      status_filter: WorkerStatus.optional(),
      /** So many at a time, in the order in which they were made; with a status, those of them that have it. Without it, all. */
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
      /** `next_cursor` of the page before: good also when that worker was deleted since. Without a limit it says nothing. */
      cursor: WorkerId.optional(),
    }),
    reply: z.object({
      workers: z.array(WorkerView),
      /** In this answer. */
      total: z.number(),
      /** For the page after this one; null after the last. */
      next_cursor: WorkerId.nullable(),
      as_of_seq: z.number(),
    }),
  }),
  create: call({
    method: 'POST',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'Create a worker and its token, shown this once',
    body: NewWorker,
    reply: Issued,
  }),
  get: call({
    method: 'GET',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Show one worker',
    params: byWorker,
    reply: WorkerView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Delete a worker that is offline or never came; its token is dead',
    params: byWorker,
    reply: z.object({ success: z.literal(true), worker_id: WorkerId }),
  }),
  update: call({
    method: 'PATCH',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Change the name of a worker, or the labels that were given to it here',
    params: byWorker,
    body: WorkerChange,
    reply: WorkerView,
  }),
  drain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/drain',
    authority: 'admin.workers',
    summary: 'Let the worker finish its job and give it no other',
    params: byWorker,
    body: z.strictObject({
      reason: Line.max(500).nullish(),
      /** From now; a job that still runs then is stopped and given to another worker. */
      deadline_s: z.number().min(0).max(31_536_000).nullish(),
    }),
    reply: WorkerView,
  }),
  undrain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/undrain',
    authority: 'admin.workers',
    summary: 'Take a drain back',
    params: byWorker,
    reply: WorkerView,
  }),
  unquarantine: call({
    method: 'POST',
    path: '/api/admin/workers/:id/unquarantine',
    authority: 'admin.workers',
    summary: 'Give the worker jobs again',
    params: byWorker,
    reply: WorkerView,
  }),
  rotateToken: call({
    method: 'POST',
    path: '/api/admin/workers/:id/token',
    authority: 'admin.workers',
    summary: 'Give the worker a new token; the old one is dead at once, or when its job has ended',
    params: byWorker,
    body: z.strictObject({ mode: z.enum(['now', 'after_job']).default('now') }),
    reply: Issued,
  }),
  createJoinToken: call({
    method: 'POST',
    path: '/api/admin/workers/:id/join-token',
    authority: 'admin.workers',
    summary:
      'Make a join token, shown this once: the machine that uses it becomes the worker; an older one is void',
    params: byWorker,
    body: z.strictObject({
      /** From now; from a minute to a week. */
      expires_in_s: z.number().int().min(60).max(604_800).default(3_600),
    }),
    reply: IssuedJoinToken,
  }),
};

/** One act or transition, as it was written down. */
export const AuditEntry = z
  .object({
    seq: z.number(),
    at: z.iso.datetime(),
    event_type: z.string(),
    actor_type: z.enum(['admin', 'worker', 'system']),
    actor_id: z.string().nullable(),
    /** The network address of who acted. */
    address: z.string().nullable(),
    target_type: z.enum([
      'worker',
      'job',
      'queue',
      'user',
      'settings',
      'config',
      'dataset',
      'token',
      'session',
      'call',
      'audit',
      'backup',
    ]),
    target_id: z.string(),
    details: z.record(z.string(), z.unknown()),
    /** Of every field above and of the row before, in lower-case hex. */
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' });

/** RFC 3339; also a date alone, which is its first moment, and a time without a zone: both in UTC. */
const AuditTime = z
  .union(
    [
      z.iso.datetime({ offset: true }),
      z.iso.datetime({ local: true }).transform(at => `${at}Z`),
      z.iso.date(),
    ],
    {
      error: 'expected a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z',
    },
  )
  .meta({ format: 'date-time' });

const AuditSieve = z.object({
  /** A whole type, or the beginning of several, as in `worker.*`. The names of SimpleTuner's guide are taken, too: see `types`. */
  event_type: z.string().max(100).optional(),
  actor_id: z.string().max(100).optional(),
  target_type: z.string().max(20).optional(),
  target_id: z.string().max(200).optional(),
  since: AuditTime.optional(),
  /** Not included. */
  until: AuditTime.optional(),
});
export type AuditSieve = z.output<typeof AuditSieve>;

/** Which portion of those that are found. */
const AuditPage = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  offset: z.coerce.number().int().min(0).max(1e9).default(0),
};
const AuditEntries = z.object({ entries: z.array(AuditEntry), total: z.number() });

const Seq = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
/** What verification can find. `problem` beside it says the same in words. */
const AuditFault = z.enum([
  'anchor_changed',
  'row_inserted',
  'row_missing',
  'row_changed',
  'newest_missing',
  'head_unreadable',
  'head_mismatch',
  // The trail itself says so, in a row that was written at a start: the file audit-head was gone.
  'head_lost',
  // The trail itself says so: a backup replaced a damaged database, whose newest rows could not be read.
  'rows_lost',
  // A witness outside the data folder knows a row that the trail does not have: an older database was put in its place.
  'head_rolled_back',
]);
export type AuditFault = z.output<typeof AuditFault>;
const Mark = z.object({ seq: z.number(), at: z.iso.datetime() });
const Counted = z.array(z.object({ name: z.string(), count: z.number() }));

/** What a witness outside the data folder was told, a line of its file each. */
export const WitnessMark = z.object({
  seq: Seq,
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.string().max(40),
});
export type WitnessMark = z.output<typeof WitnessMark>;

/** Null for a line of a witness's file that is no mark. */
export function readWitnessMark(line: string): WitnessMark | null {
  try {
    return WitnessMark.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

/** What was done, by whom: people and scripts, with `Authorization: Bearer`. */
export const auditApi = {
  list: call({
    method: 'GET',
    path: '/api/audit',
    authority: 'admin.audit',
    summary: 'List what was done, newest first',
    query: AuditSieve.extend(AuditPage),
    reply: AuditEntries,
  }),
  user: call({
    method: 'GET',
    path: '/api/audit/user/:id',
    authority: 'admin.audit',
    summary: 'List what one user, or one worker, did, newest first',
    /** The name of a token, `admin`, or the id of a worker. */
    params: z.object({ id: z.string().min(1).max(100) }),
    query: AuditSieve.omit({ actor_id: true }).extend(AuditPage),
    reply: AuditEntries,
  }),
  security: call({
    method: 'GET',
    path: '/api/audit/security',
    authority: 'admin.audit',
    summary:
      'List what matters for security, newest first: sign-ins, refusals, tokens, settings, the trail itself',
    query: AuditSieve.extend(AuditPage),
    reply: AuditEntries,
  }),
  stats: call({
    method: 'GET',
    path: '/api/audit/stats',
    authority: 'admin.audit',
    summary: 'Count what was done, by type and by who did it',
    query: AuditSieve,
    reply: z.object({
      total: z.number(),
      first_at: z.iso.datetime().nullable(),
      last_at: z.iso.datetime().nullable(),
      /** The hundred most frequent, most first. */
      by_type: Counted,
      by_actor: Counted,
    }),
  }),
  types: call({
    method: 'GET',
    path: '/api/audit/types',
    authority: 'admin.audit',
    summary: 'List the types of entries that there can be',
    reply: z.object({
      types: z.array(z.string()),
      /** Names of SimpleTuner's guide, and the type that stands for each here. */
      aliases: z.record(z.string(), z.string()),
    }),
  }),
  export: call({
    method: 'GET',
    path: '/api/audit/export',
    authority: 'admin.audit',
    summary: 'Give all entries, oldest first, one line of JSON each',
    query: AuditSieve,
    reply: AuditEntry,
    stream: 'application/x-ndjson',
  }),
  verify: call({
    method: 'GET',
    path: '/api/audit/verify',
    authority: 'admin.audit',
    summary: 'Check that no row was changed, removed or put in between',
    /** Both included; left out, all that there is. */
    query: z
      .object({
        from: Seq.optional(),
        to: Seq.optional(),
        /** As `from` and `to`. */
        start_id: Seq.optional(),
        end_id: Seq.optional(),
      })
      .refine(({ from, start_id: start }) => from === undefined || start === undefined || from === start, {
        path: ['start_id'],
        error: 'is another word for from: give one of them',
      })
      .refine(({ to, end_id: end }) => to === undefined || end === undefined || to === end, {
        path: ['end_id'],
        error: 'is another word for to: give one of them',
      }),
    reply: z.object({
      valid: z.boolean(),
      checked: z.number(),
      /** The first row that is not as it was written, and what is wrong with it. */
      first_bad: z.object({ seq: z.number(), problem: z.string(), code: AuditFault }).nullable(),
      /** The newest row that is vouched for outside the database, and since when; null before the first. */
      head: Mark.nullable(),
      /** The newest row that retention has removed; null when it never has. */
      anchor: Mark.nullable(),
    }),
  }),
  compare: call({
    method: 'POST',
    path: '/api/audit/compare',
    authority: 'admin.audit',
    summary: 'Check that the trail has every row that a witness was told of',
    body: z.strictObject({ marks: z.array(WitnessMark).min(1).max(1_000) }),
    reply: z.object({
      /** Marks that are in the trail as they were told. */
      checked: z.number(),
      /** Marks of rows that retention has removed since. */
      removed: z.number(),
      first_bad: z.object({ seq: z.number(), problem: z.string(), code: AuditFault }).nullable(),
    }),
  }),
};

export const eventsApi = {
  stream: call({
    method: 'GET',
    path: '/api/events',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Follow what happens; resumes after Last-Event-ID',
    /** `pings`: pings come as events that a page can see (`{"kind": "ping", "every_ms": 20000}`), and not as comments. */
    query: z.object({ pings: z.stringbool().default(false) }),
    reply: UiEvent,
    stream: 'text/event-stream',
  }),
};

export const systemApi = {
  openapi: call({
    method: 'GET',
    path: '/openapi.json',
    authority: 'open',
    summary: 'Describe every call, after OpenAPI 3.1',
    reply: z.record(z.string(), z.unknown()),
  }),
  prove: call({
    method: 'POST',
    path: '/api/prove',
    authority: 'open',
    summary: 'Prove to programs that can read the data folder that this server works on it',
    body: z.strictObject({
      nonce: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'expected 32 bytes as base64url'),
    }),
    /** HMAC-SHA-256 of the nonce and of the socket that the call arrived at, in lower-case hex. */
    reply: z.object({ proof: z.string() }),
  }),
  live: call({
    method: 'GET',
    path: '/health/live',
    authority: 'open',
    summary: 'Say that the process answers',
    reply: z.object({ status: z.literal('live') }),
  }),
  ready: call({
    method: 'GET',
    path: '/health/ready',
    authority: 'open',
    summary: 'Say whether changes are taken; 503 with the reason when they are not',
    reply: z.object({ status: z.literal('ready') }),
  }),
  metrics: call({
    method: 'GET',
    path: '/metrics',
    authority: 'queue.view',
    own: 'refused',
    summary: 'Give the figures of fleet, queue and process in the text format of Prometheus',
    reply: z.string(),
    stream: 'text/plain',
  }),
  version: call({
    method: 'GET',
    path: '/api/version',
    authority: 'open',
    summary: 'Say which version this is',
    reply: z.object({ name: z.literal('trainyard'), version: z.string(), protocol: z.number() }),
  }),
};
