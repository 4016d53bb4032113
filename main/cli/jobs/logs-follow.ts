import { setTimeout as pause } from 'node:timers/promises';
import { urlOf } from '../../../protocol/client.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { isFinal } from '../../../protocol/job.ts';
import { LogEvent, type LogPage, logsApi } from '../../../protocol/logs-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { FeedRefused, openFeed } from '../event-feed.ts';
import { CommandEnd, failureOf, reasonOf } from '../failure.ts';
import { FeedLost, live, persist } from '../live.ts';
import type { Remote } from '../remote.ts';
import { type LogPrinter, printTail } from './logs-print.ts';

interface FollowOptions {
  readonly id: JobId;
  /** The attempt to follow. If undefined, follows all attempts, from the newest one that has a log. */
  readonly attempt: number | undefined;
  /** Maximum number of existing lines to print. */
  readonly maxLines: number;
}

/** Prints existing and new lines until the log is complete. Reconnects after the connection is lost. */
export async function followLogs(remote: Remote, printer: LogPrinter, options: FollowOptions): Promise<void> {
  const { id, maxLines } = options;
  let page = await waitForLog(remote, id, options.attempt);
  await printTail(remote, printer, page, maxLines);
  let line = page.total_lines;
  for (;;) {
    const { attempt } = page;
    const after = await followAttempt(remote, printer, { id, attempt, line });
    printer.clear();
    if (options.attempt !== undefined) return;
    const next = after ?? (await waitForNextAttempt(remote, id, attempt));
    if (next === null) return;
    remote.terminal.err(`Attempt ${attempt} ended. The job continues as attempt ${next}\n`);
    page = await waitForLog(remote, id, next);
    line = page.first_line;
  }
}

const pollMs = 500;

/** Waits until the attempt has a log. */
function waitForLog(remote: Remote, id: JobId, attempt: number | undefined): Promise<LogPage> {
  let isReported = false;
  return persist(remote, async onReached => {
    for (;;) {
      const result = await remote.call(logsApi.read, { params: { id }, query: { attempt, limit: 1 } });
      if (result.ok) return result.value;
      const { failure } = result;
      if (failure.kind !== 'problem' || failure.problem.code !== 'log_not_begun')
        throw new CommandEnd(failureOf(failure, remote.connection().url));
      onReached();
      if (!isReported)
        remote.terminal.err(`${failure.problem.detail}. Waiting for it; press Ctrl-C to stop\n`);
      isReported = true;
      await pause(pollMs);
    }
  });
}

interface LogPosition {
  readonly id: JobId;
  readonly attempt: number;
  readonly line: number;
}

/** Prints an attempt's log to its end. Returns the number of the next attempt; null if there is none yet. */
function followAttempt(
  remote: Remote,
  printer: LogPrinter,
  { id, attempt, line: first }: LogPosition,
): Promise<number | null> {
  let line = first;
  return persist(remote, async onReached => {
    const controller = new AbortController();
    try {
      for await (const event of await openLog(remote, { id, attempt, line }, controller.signal)) {
        onReached();
        if (event.type === 'end') return event.next_attempt;
        printer.lines(event.lines);
        printer.open(event.open_line);
        line = (event.lines.at(-1)?.line ?? line - 1) + 1;
      }
    } catch (cause) {
      printer.clear();
      throw cause instanceof CommandEnd ? cause : new FeedLost(reasonOf(cause), { cause });
    } finally {
      controller.abort();
    }
    printer.clear();
    throw new FeedLost('the orchestrator ended the stream');
  });
}

async function openLog(
  { connection, fetch }: Remote,
  { id, attempt, line }: LogPosition,
  signal: AbortSignal,
): Promise<AsyncIterable<LogEvent>> {
  const { url, token } = connection();
  const from = urlOf(url, logsApi.follow.path, { id }, { attempt, line });
  try {
    return eventsOf(await openFeed({ url, token, fetch, signal }, from));
  } catch (cause) {
    if (cause instanceof FeedRefused) throw new CommandEnd(failureOf(cause.failure, url));
    throw cause;
  }
}

async function* eventsOf(feed: AsyncIterable<string>): AsyncGenerator<LogEvent> {
  for await (const data of feed) {
    const event = LogEvent.safeParse(JSON.parse(data));
    // Skip events that only later versions know.
    if (event.success) yield event.data;
  }
}

/** Waits for the next attempt; returns null when the job ends without one. */
async function waitForNextAttempt(remote: Remote, id: JobId, attempt: number): Promise<number | null> {
  const findNext = async (): Promise<{ readonly next: number | null } | null> => {
    const job = await remote.request(queueApi.get, { params: { id } });
    if (job.attempt > attempt) return { next: attempt + 1 };
    return isFinal(job.status) ? { next: null } : null;
  };
  const nextAttempt = await live(remote, async events => {
    const first = await findNext();
    if (first !== null) return first;
    for await (const event of events) {
      if (event.kind !== 'reset' && (event.kind !== 'job' || event.job_id !== id)) continue;
      const next = await findNext();
      if (next !== null) return next;
    }
    return null;
  });
  return nextAttempt.next;
}
