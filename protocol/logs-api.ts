import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId } from './ids.ts';

/** Position in a trainer's output, in bytes since its start, before any filtering. */
const Place = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Maximum length of a chunk in characters; at most one megabyte as JSON. */
export const longestChunk = 131_072;

/**
 * A piece of an attempt's output, identified by its start and end position, so that a repetition is recognised. `text` is the
 * output without secrets. It is usually shorter than the bytes because overwritten progress bars are omitted. Lines end with a
 * line feed; the next line overwrites one that ends with a carriage return.
 */
const LogChunk = z
  .strictObject({
    attempt_id: AttemptId,
    /** End of the orchestrator's log according to its last response. */
    after: Place,
    /** Greater than `after` when the output in between was lost on the rig. */
    from: Place,
    to: Place,
    text: z.string().max(longestChunk),
    /** The attempt has no further output. */
    is_last: z.boolean().default(false),
  })
  .refine(({ after, from, to }) => after <= from && from <= to, {
    path: ['from'],
    message: 'after, from and to have to be in this order',
  });
export type LogChunk = z.output<typeof LogChunk>;
/** Request body as the agent sends it. */
export type LogChunkBody = z.input<typeof LogChunk>;

const LogChunkReply = z.object({
  success: z.literal(true),
  /**
   * Current end of the orchestrator's log. If it differs from the chunk's `to`, the chunk was not stored; continue from here.
   */
  next: Place,
});

/** Requests from workers to the orchestrator. */
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
    /** Line number in the attempt's log, starting at 0. */
    line: LineNo,
    /** When the orchestrator received the line. */
    at: z.iso.datetime(),
    text: z.string(),
    /** The line is longer than `text`. */
    is_cut: z.literal(true).optional(),
    /** The line comes from Trainyard, not from the trainer: output is `lost`, or the log is `full`. */
    note: z.enum(['lost', 'full']).optional(),
  })
  .meta({ id: 'LogLine' });
export type LogLine = Readonly<z.output<typeof LogLine>>;

const LogState = z.object({
  job_id: JobId,
  attempt: z.number(),
  /** Attempts that have a log, oldest first. */
  attempts: z.array(z.number()),
  total_lines: LineNo,
  /** First line still stored; earlier ones were removed to make space. */
  first_line: LineNo,
  bytes: z.number(),
  /** The log is complete. */
  is_complete: z.boolean(),
});
export type LogState = Readonly<z.output<typeof LogState>>;

const place = z.object({ id: JobId });
const LogPage = LogState.extend({
  lines: z.array(LogLine),
  /** Text of the last line, which has no line feed yet; usually a progress bar. */
  open_line: z.string().nullable(),
});
export type LogPage = Readonly<z.output<typeof LogPage>>;

/** An event of the stream that follows a log. */
export const LogEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('lines'), lines: z.array(LogLine), open_line: z.string().nullable() }),
  /** End of this attempt's log; `next_attempt` is set when a later attempt already exists. */
  z.object({ type: z.literal('end'), next_attempt: z.number().nullable() }),
]);
export type LogEvent = Readonly<z.output<typeof LogEvent>>;

/**
 * Logs of jobs, for people and scripts with `Authorization: Bearer`. `attempt` defaults to the newest attempt with a log.
 */
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
      /**
       * Keep-alive pings are events that a page can see (`{"kind": "ping", "every_ms": 20000}`) instead of comments.
       */
      pings: z.stringbool().default(false),
    }),
    /** The event's `id:` is the number of the next line, for use in `Last-Event-ID`. */
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
      /** Lines that contain the text, from `line` on. */
      matches: z.array(LogLine),
      /** Number of matches in the whole log. */
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
