import { z } from 'zod';
import { call } from './call.ts';
import { UiEvent } from './events.ts';
import { WorkerId } from './ids.ts';
import { Labels, Line } from './text.ts';
import { Issued, IssuedJoinToken } from './tokens-api.ts';
import { WorkerStatus, WorkerType, WorkerView } from './worker.ts';

const byWorker = z.object({ id: WorkerId });

const Name = Line.trim().min(1, 'a name is required').max(100);

export const NewWorker = z.object({
  name: Name.describe('Name of the worker, at most 100 characters.'),
  worker_type: WorkerType.default('persistent').describe(
    "Decides whether the worker's row is deleted after it leaves. Defaults to `persistent`, which keeps it.",
  ),
  labels: Labels.default({}).describe('Labels of the worker; none by default.'),
});
export type NewWorker = z.output<typeof NewWorker>;

const WorkerChange = z
  .strictObject({
    name: Name.optional().describe('New name of the worker; omitted to keep it.'),
    labels: Labels.optional().describe('Replaces all labels; omitted ones are removed.'),
  })
  .refine(body => body.name !== undefined || body.labels !== undefined, 'name or labels is required');
export type WorkerChange = z.output<typeof WorkerChange>;

/** Administration of workers, for people and scripts with `Authorization: Bearer`. */
export const workersApi = {
  list: call({
    method: 'GET',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'List workers',
    query: z.object({
      status_filter: WorkerStatus.optional().describe('Return only workers with this status.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1_000)
        .optional()
        .describe(
          'Page size, in order of creation. `status_filter` applies to each page, so a page can have fewer workers. Without a limit, all workers are returned.',
        ),
      cursor: WorkerId.optional().describe(
        '`next_cursor` of the previous page; stays valid if that worker is deleted. Ignored without `limit`.',
      ),
    }),
    reply: z.object({
      workers: z.array(WorkerView).describe('Workers in order of creation.'),
      total: z.number().describe('Number of workers in this response.'),
      next_cursor: WorkerId.nullable().describe('Cursor of the next page; null on the last page.'),
      as_of_seq: z
        .number()
        .describe('Number of the newest event that the response includes; follow the events after it.'),
    }),
  }),
  create: call({
    method: 'POST',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'Create a worker and its token, which is shown once',
    body: NewWorker,
    reply: Issued,
  }),
  get: call({
    method: 'GET',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Show a worker',
    params: byWorker,
    reply: WorkerView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Delete an offline worker and revoke its token',
    params: byWorker,
    reply: z.object({ success: z.literal(true).describe('Always true.'), worker_id: WorkerId }),
  }),
  update: call({
    method: 'PATCH',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Change the name or the labels of a worker',
    params: byWorker,
    body: WorkerChange,
    reply: WorkerView,
  }),
  drain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/drain',
    authority: 'admin.workers',
    summary: 'Drain a worker: it finishes its job and gets no other',
    params: byWorker,
    body: z.strictObject({
      reason: Line.max(500).nullish().describe('Reason that the worker shows; null for none.'),
      deadline_s: z
        .number()
        .min(0)
        .max(31_536_000)
        .nullish()
        .describe(
          'Seconds from now until the deadline; a job that still runs then is stopped and moved to another worker. Null for no deadline.',
        ),
    }),
    reply: WorkerView,
  }),
  undrain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/undrain',
    authority: 'admin.workers',
    summary: 'End the drain of a worker',
    params: byWorker,
    reply: WorkerView,
  }),
  unquarantine: call({
    method: 'POST',
    path: '/api/admin/workers/:id/unquarantine',
    authority: 'admin.workers',
    summary: 'Release a worker from quarantine',
    params: byWorker,
    reply: WorkerView,
  }),
  rotateToken: call({
    method: 'POST',
    path: '/api/admin/workers/:id/token',
    authority: 'admin.workers',
    summary: 'Replace the token of a worker now or after its job',
    params: byWorker,
    body: z.strictObject({
      mode: z
        .enum(['now', 'after_job'])
        .default('now')
        .describe('`now` revokes the old token at once, `after_job` when the current job has ended.'),
    }),
    reply: Issued,
  }),
  createJoinToken: call({
    method: 'POST',
    path: '/api/admin/workers/:id/join-token',
    authority: 'admin.workers',
    summary: 'Create a join token for a worker; it replaces an earlier one',
    params: byWorker,
    body: z.strictObject({
      expires_in_s: z
        .number()
        .int()
        .min(60)
        .max(604_800)
        .default(3_600)
        .describe('Lifetime in seconds, between a minute and a week.'),
    }),
    reply: IssuedJoinToken,
  }),
};

export const AuditEntry = z
  .object({
    seq: z.number().describe('Number of the entry; increases by one.'),
    at: z.iso.datetime().describe('Time of the action or transition, in UTC.'),
    event_type: z.string().describe('Type of the entry, such as `worker.created`.'),
    actor_type: z.enum(['admin', 'worker', 'system']).describe('Kind of actor.'),
    actor_id: z
      .string()
      .nullable()
      .describe('Name of a token, `admin` or id of a worker; null for the system.'),
    address: z.string().nullable().describe('Network address of the actor; null when unknown.'),
    target_type: z
      .enum([
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
        'pool',
        'launch',
        'template',
      ])
      .describe('Kind of object that was changed.'),
    target_id: z.string().describe('Id or name of that object.'),
    details: z.record(z.string(), z.unknown()).describe('Details by type of the entry.'),
    hash: z.string().describe('Seal over all fields above and the previous row, in lower-case hex.'),
  })
  .meta({ id: 'AuditEntry', description: 'One recorded action or state transition.' });

/** A time in RFC 3339. Also accepts a time without a zone, and a date (the start of that day); these two are in UTC. */
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

const AuditQuery = z.object({
  event_type: z
    .string()
    .max(100)
    .optional()
    .describe(
      "A type, or a prefix such as `worker.*`. Also accepts the names of SimpleTuner's guide: see `types`.",
    ),
  actor_id: z.string().max(100).optional().describe('Name of a token, `admin`, or id of a worker.'),
  target_type: z.string().max(20).optional().describe('Kind of object, such as `job`.'),
  target_id: z.string().max(200).optional().describe('Id or name of the object.'),
  since: AuditTime.optional().describe(
    'Only entries from this time on: RFC 3339, or a date; UTC without a zone.',
  ),
  until: AuditTime.optional().describe(
    'Only entries before this time: RFC 3339, or a date; UTC without a zone.',
  ),
});
export type AuditQuery = z.output<typeof AuditQuery>;

/** Query parameters that select a page of the matching entries. */
const AuditPage = {
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('Maximum number of entries on a page.'),
  offset: z.coerce.number().int().min(0).max(1e9).default(0).describe('Number of entries to skip.'),
};
const AuditEntries = z.object({
  entries: z.array(AuditEntry).describe('Entries on this page.'),
  total: z.number().describe('Number of matching entries on all pages.'),
});

const Seq = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const AuditFault = z
  .enum([
    'anchor_changed',
    'row_inserted',
    'row_missing',
    'row_changed',
    'newest_missing',
    'head_unreadable',
    'head_mismatch',
    // The file audit-head was missing at a start. The server then wrote a row that records this.
    'head_lost',
    // A backup replaced a damaged database whose newest rows could not be read. A row in the trail records this.
    'rows_lost',
    // A witness (a file or URL outside the data folder) has a mark of a row that the trail lacks: the database is an older one.
    'head_rolled_back',
  ])
  .describe('Code of the failure.');
export type AuditFault = z.output<typeof AuditFault>;
const Mark = z.object({
  seq: z.number().describe('Number of the row.'),
  at: z.iso.datetime().describe('Time of the row or of its removal, in UTC.'),
});
const Counted = z.array(
  z.object({ name: z.string().describe('Type or actor.'), count: z.number().describe('Number of entries.') }),
);

/** A mark that a witness has received. If the witness is a file, it has one mark per line. */
export const WitnessMark = z.object({
  seq: Seq.describe('Number of the row.'),
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Seal of the row, in lower-case hex.'),
  at: z.string().max(40).describe('When the witness received the mark.'),
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
    summary: 'List audit entries, newest first',
    query: AuditQuery.extend(AuditPage),
    reply: AuditEntries,
  }),
  user: call({
    method: 'GET',
    path: '/api/audit/user/:id',
    authority: 'admin.audit',
    summary: 'List audit entries of one user or worker, newest first',
    params: z.object({
      id: z.string().min(1).max(100).describe('Name of a token, `admin`, or id of a worker.'),
    }),
    query: AuditQuery.omit({ actor_id: true }).extend(AuditPage),
    reply: AuditEntries,
  }),
  security: call({
    method: 'GET',
    path: '/api/audit/security',
    authority: 'admin.audit',
    summary: 'List audit entries that concern security, newest first',
    query: AuditQuery.extend(AuditPage),
    reply: AuditEntries,
  }),
  stats: call({
    method: 'GET',
    path: '/api/audit/stats',
    authority: 'admin.audit',
    summary: 'Count audit entries by type and actor',
    query: AuditQuery,
    reply: z.object({
      total: z.number().describe('Number of matching entries.'),
      first_at: z.iso
        .datetime()
        .nullable()
        .describe('Time of the oldest matching entry; null when there is none.'),
      last_at: z.iso
        .datetime()
        .nullable()
        .describe('Time of the newest matching entry; null when there is none.'),
      by_type: Counted.describe('Entries by type: the hundred most frequent, in descending order.'),
      by_actor: Counted.describe('Entries by actor: the hundred most frequent, in descending order.'),
    }),
  }),
  types: call({
    method: 'GET',
    path: '/api/audit/types',
    authority: 'admin.audit',
    summary: 'List the types of audit entries',
    reply: z.object({
      types: z.array(z.string()).describe('All types of entries.'),
      aliases: z.record(z.string(), z.string()).describe("Maps the names of SimpleTuner's guide to types."),
    }),
  }),
  export: call({
    method: 'GET',
    path: '/api/audit/export',
    authority: 'admin.audit',
    summary: 'Export all audit entries as JSON lines, oldest first',
    query: AuditQuery,
    reply: AuditEntry,
    stream: 'application/x-ndjson',
  }),
  verify: call({
    method: 'GET',
    path: '/api/audit/verify',
    authority: 'admin.audit',
    summary: 'Verify that no audit row was changed, removed or inserted',
    query: z
      .object({
        from: Seq.optional().describe('First row to verify; defaults to the oldest.'),
        to: Seq.optional().describe('Last row to verify; defaults to the newest.'),
        start_id: Seq.optional().describe('Alias of `from`.'),
        end_id: Seq.optional().describe('Alias of `to`.'),
      })
      .refine(({ from, start_id: start }) => from === undefined || start === undefined || from === start, {
        path: ['start_id'],
        error: 'is an alias of from: use only one of them',
      })
      .refine(({ to, end_id: end }) => to === undefined || end === undefined || to === end, {
        path: ['end_id'],
        error: 'is an alias of to: use only one of them',
      }),
    reply: z.object({
      valid: z.boolean().describe('Whether every row passed.'),
      checked: z.number().describe('Number of verified rows.'),
      first_bad: z
        .object({
          seq: z.number().describe('Number of the row.'),
          problem: z.string().describe('The failure as a sentence.'),
          code: AuditFault.describe('Code of the failure.'),
        })
        .nullable()
        .describe('The first row that fails verification, and why; null when all pass.'),
      head: Mark.nullable().describe(
        'The newest row that the head outside the database covers, and when the head was written; null before the first row.',
      ),
      anchor: Mark.nullable().describe(
        'The newest row that retention has removed; null when it has removed none.',
      ),
    }),
  }),
  compare: call({
    method: 'POST',
    path: '/api/audit/compare',
    authority: 'admin.audit',
    summary: 'Verify that the audit trail has every row that a witness knows',
    body: z.strictObject({
      marks: z.array(WitnessMark).min(1).max(1_000).describe('Marks that a witness has received.'),
    }),
    reply: z.object({
      checked: z.number().describe('Number of marks that match the trail.'),
      removed: z.number().describe('Number of marks whose rows retention has removed.'),
      first_bad: z
        .object({
          seq: z.number().describe('Number of the row.'),
          problem: z.string().describe('The failure as a sentence.'),
          code: AuditFault.describe('Code of the failure.'),
        })
        .nullable()
        .describe('The first mark that does not match, and why; null when all match.'),
    }),
  }),
};

export const eventsApi = {
  stream: call({
    method: 'GET',
    path: '/api/events',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Stream events; resumes after Last-Event-ID',
    query: z.object({
      pings: z
        .stringbool()
        .default(false)
        .describe(
          'Whether keep-alive pings are events that a page can see (`{"kind": "ping", "every_ms": 20000}`) instead of comments.',
        ),
    }),
    reply: UiEvent,
    stream: 'text/event-stream',
  }),
};

export const systemApi = {
  openapi: call({
    method: 'GET',
    path: '/openapi.json',
    authority: 'open',
    summary: 'Describe the API as OpenAPI 3.1',
    reply: z.record(z.string(), z.unknown()),
  }),
  prove: call({
    method: 'POST',
    path: '/api/prove',
    authority: 'open',
    summary: 'Prove that the server holds the key of its data folder',
    body: z.strictObject({
      nonce: z
        .string()
        .regex(/^[A-Za-z0-9_-]{43}$/, 'expected 32 bytes as base64url')
        .describe('32 random bytes as base64url.'),
    }),
    reply: z.object({
      proof: z
        .string()
        .describe('HMAC-SHA-256 of the nonce and the socket that received the request, in lower-case hex.'),
    }),
  }),
  live: call({
    method: 'GET',
    path: '/health/live',
    authority: 'open',
    summary: 'Check that the process responds',
    reply: z.object({ status: z.literal('live').describe('Always `live`.') }),
  }),
  ready: call({
    method: 'GET',
    path: '/health/ready',
    authority: 'open',
    summary: 'Check whether the server accepts changes; 503 with the reason when it does not',
    reply: z.object({ status: z.literal('ready').describe('Always `ready`.') }),
  }),
  metrics: call({
    method: 'GET',
    path: '/metrics',
    authority: 'queue.view',
    own: 'refused',
    summary: 'Export metrics of fleet, queue and process for Prometheus',
    reply: z.string(),
    stream: 'text/plain',
  }),
  version: call({
    method: 'GET',
    path: '/api/version',
    authority: 'open',
    summary: 'Show the version of the server',
    reply: z.object({
      name: z.literal('trainyard').describe('Always `trainyard`.'),
      version: z.string().describe('Version of the orchestrator.'),
      protocol: z.number().describe('Newest version of the worker protocol that the server supports.'),
    }),
  }),
};
