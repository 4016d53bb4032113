import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId } from './ids.ts';

/** A place in what a trainer prints: bytes since it began, as they came out of it. */
const Place = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Of one chunk, in characters: a megabyte at most once it is JSON. */
export const longestChunk = 131_072;

/**
 * A piece of an attempt's output, numbered by the places at which it begins and ends, so that a repeat is known for one. `text` is
 * what those bytes say, secrets taken out: as a rule with the bars left out that were drawn over, so it is shorter than they are.
 * Lines end with a line feed; one that ends with a carriage return is drawn over by the next.
 */
const LogChunk = z
  .strictObject({
    attempt_id: AttemptId,
    /** Where the orchestrator's log ends, as far as the agent knows: its last answer said so. */
    after: Place,
    /** Beyond `after` when what is between them is lost on the rig, and will not come. */
    from: Place,
    to: Place,
    text: z.string().max(longestChunk),
    /** There will be no more of this attempt. */
    is_last: z.boolean().default(false),
  })
  .refine(({ after, from, to }) => after <= from && from <= to, {
    path: ['from'],
    message: 'after, from and to have to be in this order',
  });
export type LogChunk = z.output<typeof LogChunk>;
/** As an agent sends it. */
export type LogChunkBody = z.input<typeof LogChunk>;

const LogChunkReply = z.object({
  success: z.literal(true),
  /** Where its log ends by now. Other than the chunk's `to`: the chunk was not taken, and what is wanted next begins here. */
  next: Place,
});

/** Worker -> orchestrator. */
export const workerLogsApi = {
  ship: call({
    method: 'POST',
    path: '/api/workers/job/:id/logs',
    authority: 'worker',
    summary: 'Hand over the next piece of what an attempt has printed',
    params: z.object({ id: JobId }),
    body: LogChunk,
    reply: LogChunkReply,
  }),
};

const LineNo = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const AttemptNo = z.coerce.number().int().min(1).max(10_000);

export const LogLine = z
  .object({
    /** From 0 on, in the log of its attempt. */
    line: LineNo,
    /** When it came to the orchestrator. */
    at: z.iso.datetime(),
    text: z.string(),
    /** It is longer than what is shown of it. */
    is_cut: z.literal(true).optional(),
    /** Said by Trainyard, and not by the trainer: `lost` output that is gone, `full` where the log may grow no further. */
    note: z.enum(['lost', 'full']).optional(),
  })
  .meta({ id: 'LogLine' });
export type LogLine = Readonly<z.output<typeof LogLine>>;

const LogState = z.object({
  job_id: JobId,
  attempt: z.number(),
  /** Those of which there is a log, oldest first. */
  attempts: z.array(z.number()),
  total_lines: LineNo,
  /** The first that is kept: those before it had to make room. */
  first_line: LineNo,
  bytes: z.number(),
  /** Nothing more will come. */
  is_complete: z.boolean(),
});
export type LogState = Readonly<z.output<typeof LogState>>;

const place = z.object({ id: JobId });
const LogPage = LogState.extend({
  lines: z.array(LogLine),
  /** What has been printed of the line that is not ended yet: as a rule a progress bar. */
  open_line: z.string().nullable(),
});
export type LogPage = Readonly<z.output<typeof LogPage>>;

/** One event of the stream that follows a log. */
export const LogEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('lines'), lines: z.array(LogLine), open_line: z.string().nullable() }),
  /** There are no more of this attempt; `next_attempt` when there is a later one already. */
  z.object({ type: z.literal('end'), next_attempt: z.number().nullable() }),
]);
export type LogEvent = Readonly<z.output<typeof LogEvent>>;

/** What jobs have printed, for people and scripts: with `Authorization: Bearer`. Without `attempt`, the newest that has a log. */
export const logsApi = {
  read: call({
    method: 'GET',
    path: '/api/queue/:id/logs',
    authority: 'queue.view',
    own: 'job',
    summary: 'Read lines of what a job has printed: the last ones, or those from `line` on',
    params: place,
    query: z.object({
      attempt: AttemptNo.optional(),
      line: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
      limit: z.coerce.number().int().min(1).max(2_000).default(200),
    }),
    reply: LogPage,
  }),
  follow: call({
    method: 'GET',
    path: '/api/queue/:id/logs/stream',
    authority: 'queue.view',
    own: 'job',
    summary: 'Follow what an attempt prints, from `line` on (without it: what comes from now on), to its end',
    params: place,
    query: z.object({
      attempt: AttemptNo.optional(),
      line: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
      /** Pings come as events that a page can see (`{"kind": "ping", "every_ms": 20000}`), and not as comments. */
      pings: z.stringbool().default(false),
    }),
    /** Its `id:` is the line after those that it has, for `Last-Event-ID`. */
    reply: LogEvent,
    stream: 'text/event-stream',
  }),
  search: call({
    method: 'GET',
    path: '/api/queue/:id/logs/search',
    authority: 'queue.view',
    own: 'job',
    summary: 'Find a text in what an attempt has printed, whatever its case',
    params: place,
    query: z.object({
      attempt: AttemptNo.optional(),
      q: z.string().min(1).max(200),
      line: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
      limit: z.coerce.number().int().min(1).max(1_000).default(100),
    }),
    reply: LogState.extend({
      /** Lines in which it stands, from `line` on. */
      matches: z.array(LogLine),
      /** In the whole log. */
      total_matches: z.number(),
    }),
  }),
  text: call({
    method: 'GET',
    path: '/api/queue/:id/logs/text',
    authority: 'queue.view',
    own: 'job',
    summary: 'Download what an attempt has printed',
    params: place,
    query: z.object({ attempt: AttemptNo.optional() }),
    reply: z.string(),
    stream: 'text/plain',
  }),
};
