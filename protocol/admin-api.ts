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
  /** Decides whether the worker's row is deleted after it leaves. Defaults to `persistent`, which keeps it. */
  worker_type: WorkerType.default('persistent'),
  labels: Labels.default({}),
});
export type NewWorker = z.output<typeof NewWorker>;

const WorkerChange = z
  .strictObject({
    name: Name.optional(),
    /** Replaces all labels; omitted ones are removed. */
    labels: Labels.optional(),
  })
  .refine(body => body.name !== undefined || body.labels !== undefined, 'a name, or labels, are needed');
export type WorkerChange = z.output<typeof WorkerChange>;

/** A new worker token. The token appears only in this response and cannot be read again. */
const Issued = z.object({
  worker_id: WorkerId,
  token: z.string(),
  name: z.string(),
  connection_command: z.string(),
});

/** A new join token. As with `Issued`, the secret appears only in this response. */
const IssuedJoinToken = z.object({
  worker_id: WorkerId,
  name: z.string(),
  /** `tj_...`: lets one machine join as this worker, once. */
  join_token: z.string(),
  expires_at: z.iso.datetime(),
  /** For a machine on which the worker program is installed. */
  connection_command: z.string(),
  /** For a machine with only a shell: one line that also downloads the program. Null when the program was not built. */
  install_command: z.string().nullable().default(null),
});

/** Administration of workers, for people and scripts with `Authorization: Bearer`. */
export const workersApi = {
  list: call({
    method: 'GET',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'List the workers',
    query: z.object({
      status_filter: WorkerStatus.optional(),
      /** Page size, in order of creation, counted after `status_filter`. Without a limit, all workers are returned. */
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
      /** `next_cursor` of the previous page; stays valid if that worker is deleted. Ignored without `limit`. */
      cursor: WorkerId.optional(),
    }),
    reply: z.object({
      workers: z.array(WorkerView),
      /** Number of workers in this response. */
      total: z.number(),
      /** Cursor of the next page; null on the last page. */
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
      /** Seconds from now; a job that still runs then is stopped and moved to another worker. */
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
      /** Seconds from now, between a minute and a week. */
      expires_in_s: z.number().int().min(60).max(604_800).default(3_600),
    }),
    reply: IssuedJoinToken,
  }),
};

/** One recorded action or state transition. */
export const AuditEntry = z
  .object({
    seq: z.number(),
    at: z.iso.datetime(),
    event_type: z.string(),
    actor_type: z.enum(['admin', 'worker', 'system']),
    actor_id: z.string().nullable(),
    /** Network address of the actor. */
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
    /** Seal over all fields above and the previous row, in lower-case hex. */
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' });

/** RFC 3339. Also accepts a date, which means its first moment, and a time without a zone; both are UTC. */
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
  /** A type, or a prefix such as `worker.*`. Also accepts the names of SimpleTuner's guide: see `types`. */
  event_type: z.string().max(100).optional(),
  actor_id: z.string().max(100).optional(),
  target_type: z.string().max(20).optional(),
  target_id: z.string().max(200).optional(),
  since: AuditTime.optional(),
  /** Exclusive. */
  until: AuditTime.optional(),
});
export type AuditSieve = z.output<typeof AuditSieve>;

/** Page of the matching entries. */
const AuditPage = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  offset: z.coerce.number().int().min(0).max(1e9).default(0),
};
const AuditEntries = z.object({ entries: z.array(AuditEntry), total: z.number() });

const Seq = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
/** Codes of verification failures. The accompanying `problem` describes them in words. */
const AuditFault = z.enum([
  'anchor_changed',
  'row_inserted',
  'row_missing',
  'row_changed',
  'newest_missing',
  'head_unreadable',
  'head_mismatch',
  // The trail itself reports this in a row written at startup: the file audit-head was missing.
  'head_lost',
  // The trail itself reports this: a backup replaced a damaged database whose newest rows could not be read.
  'rows_lost',
  // A witness outside the data folder knows a row that the trail lacks: an older database replaced this one.
  'head_rolled_back',
]);
export type AuditFault = z.output<typeof AuditFault>;
const Mark = z.object({ seq: z.number(), at: z.iso.datetime() });
const Counted = z.array(z.object({ name: z.string(), count: z.number() }));

/** A mark that a witness outside the data folder received; its file has one per line. */
export const WitnessMark = z.object({
  seq: Seq,
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.string().max(40),
});
export type WitnessMark = z.output<typeof WitnessMark>;

/** Parses a line of a witness file; null when it is not a mark. */
export function readWitnessMark(line: string): WitnessMark | null {
  try {
    return WitnessMark.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

/** Audit trail, for people and scripts with `Authorization: Bearer`. */
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
    /** Name of a token, `admin`, or id of a worker. */
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
      /** The hundred most frequent, in descending order. */
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
      /** Maps the names of SimpleTuner's guide to types. */
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
    /** Both bounds are inclusive and default to the whole trail. */
    query: z
      .object({
        from: Seq.optional(),
        to: Seq.optional(),
        /** Aliases of `from` and `to`. */
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
      /** The first row that fails verification, and why. */
      first_bad: z.object({ seq: z.number(), problem: z.string(), code: AuditFault }).nullable(),
      /**
       * The newest row that the head outside the database covers, and when the head was written; null before the first row.
       */
      head: Mark.nullable(),
      /** The newest row that retention has removed; null when it has removed none. */
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
      /** Number of marks that match the trail. */
      checked: z.number(),
      /** Number of marks whose rows retention has removed. */
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
    /**
     * With `pings`, keep-alive pings are events that a page can see (`{"kind": "ping", "every_ms": 20000}`) instead of comments.
     */
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
    /** HMAC-SHA-256 of the nonce and the socket that received the request, in lower-case hex. */
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
