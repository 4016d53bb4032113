import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId } from './ids.ts';

const Place = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .describe("Position in the trainer's output, in bytes from its start.");

/** Maximum length of a chunk in characters. Such a chunk has at most one megabyte as JSON. */
export const maxChunk = 131_072;

/**
 * A piece of an attempt's output. Its start and end positions identify the piece, so the server recognises a repetition.
 * `text` is the output without secrets. Usually, `text` is shorter than the output, because it omits overwritten progress
 * bars. Lines end with a line feed. The next line overwrites a line that ends with a carriage return.
 */
const LogChunk = z
  .strictObject({
    attempt_id: AttemptId,
    after: Place.describe("End of the orchestrator's log according to its last response."),
    from: Place.describe(
      'Start of the piece in bytes. Greater than `after` when the output in between was lost on the rig.',
    ),
    to: Place.describe('End of the piece in bytes.'),
    text: z
      .string()
      .max(maxChunk)
      .describe(
        'Output without secrets, at most 131,072 characters. Lines end with a line feed; the next line overwrites one that ends with a carriage return.',
      ),
    is_last: z.boolean().default(false).describe('Whether the attempt has no further output.'),
  })
  .refine(({ after, from, to }) => after <= from && from <= to, {
    path: ['from'],
    message: 'after, from and to must be in ascending order',
  });
export type LogChunk = z.output<typeof LogChunk>;
/** Request body as the agent sends it. */
export type LogChunkBody = z.input<typeof LogChunk>;

const LogChunkReply = z.object({
  success: z.literal(true).describe('Always true.'),
  next: Place.describe(
    "Current end of the orchestrator's log. If it differs from the chunk's `to`, the chunk was not stored; continue from here.",
  ),
});

/** Requests from workers to the orchestrator. */
export const workerLogsApi = {
  ship: call({
    method: 'POST',
    path: '/api/workers/job/:id/logs',
    authority: 'worker',
    summary: "Upload the next piece of an attempt's log",
    params: z.object({ id: JobId }),
    body: LogChunk,
    reply: LogChunkReply,
  }),
};

const LineNo = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const AttemptNo = z.coerce.number().int().min(1).max(10_000);

export const LogLine = z
  .object({
    line: LineNo.describe("Line number in the attempt's log, starting at 0."),
    at: z.iso.datetime().describe('When the orchestrator received the line.'),
    text: z.string().describe('Text of the line without its line break.'),
    is_cut: z.literal(true).optional().describe('Present when the line is longer than `text`.'),
    note: z
      .enum(['lost', 'full'])
      .optional()
      .describe(
        'The line comes from Trainyard, not from the trainer: output is `lost`, or the log is `full`.',
      ),
  })
  .meta({ id: 'LogLine', description: 'A line of a log.' });
export type LogLine = Readonly<z.output<typeof LogLine>>;

const LogState = z.object({
  job_id: JobId,
  attempt: z.number().describe('Number of the attempt.'),
  attempts: z.array(z.number()).describe('Attempts that have a log, oldest first.'),
  total_lines: LineNo.describe('Number of lines that the attempt has printed.'),
  first_line: LineNo.describe('First line still stored; earlier ones were removed to make space.'),
  bytes: z.number().describe('Size of the stored log in bytes.'),
  is_complete: z.boolean().describe('Whether no further lines will follow.'),
});
export type LogState = Readonly<z.output<typeof LogState>>;

const byJob = z.object({ id: JobId });
const LogPage = LogState.extend({
  lines: z.array(LogLine).describe('Lines of the log, in their order.'),
  open_line: z
    .string()
    .nullable()
    .describe('Text of the last line, which has no line feed yet; usually a progress bar.'),
});
export type LogPage = Readonly<z.output<typeof LogPage>>;

/** An event of the stream that follows a log. */
export const LogEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('lines').describe('The log has grown.'),
    lines: LogPage.shape.lines,
    open_line: LogPage.shape.open_line,
  }),
  z.object({
    type: z.literal('end').describe("End of this attempt's log."),
    next_attempt: z.number().nullable().describe('Number of a later attempt; null when there is none yet.'),
  }),
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
    summary: "Read lines of a job's log: the last ones, or those from `line` on",
    params: byJob,
    query: z.object({
      attempt: AttemptNo.optional().describe('Number of the attempt; defaults to the newest one with a log.'),
      line: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('First line to return, starting at 0; without it, the last lines are returned.'),
      limit: z.coerce.number().int().min(1).max(2_000).default(200).describe('Maximum number of lines.'),
      or_empty: z
        .stringbool()
        .default(false)
        .describe(
          'Whether to return an empty page, with an empty `attempts`, instead of the error `log_not_begun` when the log has not begun.',
        ),
    }),
    reply: LogPage,
  }),
  follow: call({
    method: 'GET',
    path: '/api/queue/:id/logs/stream',
    authority: 'queue.view',
    own: 'job',
    summary: 'Follow the log of an attempt until it ends',
    params: byJob,
    query: z.object({
      attempt: AttemptNo.optional().describe('Number of the attempt; defaults to the newest one with a log.'),
      line: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('First line to return, starting at 0; without it, only new lines are returned.'),
      pings: z
        .stringbool()
        .default(false)
        .describe(
          'Whether keep-alive pings are sent as events (`{"kind": "ping", "every_ms": 20000}`), which JavaScript in a browser receives, instead of as comments of the stream.',
        ),
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
    summary: 'Search the log of an attempt, ignoring case',
    params: byJob,
    query: z.object({
      attempt: AttemptNo.optional().describe('Number of the attempt; defaults to the newest one with a log.'),
      q: z.string().min(1).max(200).describe('Text to find, ignoring case.'),
      line: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .default(0)
        .describe('First line to search, starting at 0.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1_000)
        .default(100)
        .describe('Maximum number of matches to return.'),
    }),
    reply: LogState.extend({
      matches: z.array(LogLine).describe('Lines that contain the text, from `line` on.'),
      total_matches: z.number().describe('Number of matches in the whole log.'),
    }),
  }),
  text: call({
    method: 'GET',
    path: '/api/queue/:id/logs/text',
    authority: 'queue.view',
    own: 'job',
    summary: 'Download the log of an attempt',
    params: byJob,
    query: z.object({
      attempt: AttemptNo.optional().describe('Number of the attempt; defaults to the newest one with a log.'),
    }),
    reply: z.string(),
    stream: 'text/plain',
  }),
};
