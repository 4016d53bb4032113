import { setTimeout as pause } from 'node:timers/promises';
import type { Response } from 'express';
import type { LogEvent, LogLine } from '../../../protocol/logs-api.ts';
import type { LogRef, Orchestrator } from '../../orchestrator/index.ts';
import type { Log, LogFacts, LogFiles, StoredLine } from '../../orchestrator/ports/index.ts';
import type { EventStream } from '../listener/sse.ts';

export interface LogFollowing {
  readonly orchestrator: { readonly files: Pick<Orchestrator['files'], 'isLogOver' | 'attemptAfter'> };
  readonly files: LogFiles;
  readonly logRef: LogRef;
  /** Number of the first line to send. */
  readonly from: number;
  readonly stream: EventStream;
  readonly response: Response;
  readonly lineOf: (line: StoredLine) => LogLine;
  readonly log: Log;
}

/** Maximum length of a line in bytes. Longer lines are truncated. */
const maxLineBytes = 16_384;
/** Minimum time between two reads of the files. This limits a progress bar to four updates a second. */
const minMs = 250;
/**
 * Maximum time between two reads. A read is needed even without a change of the files, because an attempt can end by a timeout.
 */
const maxMs = 5_000;
/** Limits per event. JSON may escape one character as six (`\u001b`), so an event can be six times as long. */
const maxInEvent = { lines: 500, characters: 32_768 };

/**
 * Streams the stored lines and then new lines, each once, as fast as the client reads. Everything is read from the files, so
 * nothing accumulates in memory for a slow client.
 */
export async function followLog(following: LogFollowing): Promise<void> {
  const { files, logRef, stream, response, log } = following;
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  let changed = Promise.withResolvers<void>();
  const unwatch = files.watch(logRef.jobId, logRef.attempt, () => changed.resolve());
  try {
    let next = following.from;
    let sentLine: string | null | undefined;
    while (!controller.signal.aborted) {
      changed = Promise.withResolvers();
      const facts = await files.facts(logRef.jobId, logRef.attempt);
      // The log was deleted. A client that reconnects gets an error.
      if (facts === null) return stream.end();
      const before = next;
      next = await sendLines(following, facts, next, controller.signal);
      if (next !== before) sentLine = next < facts.totalLines ? undefined : facts.openLine;
      if (sentLine !== facts.openLine)
        sendEvent(stream, { type: 'lines', lines: [], open_line: facts.openLine }, next);
      sentLine = facts.openLine;
      if (next < facts.totalLines) {
        // Retention of logs has removed these lines after `facts` was read.
        if (next === before) await waitFor(null, minMs, controller.signal);
        continue;
      }
      if (following.orchestrator.files.isLogOver(logRef.jobId, logRef.attempt, facts)) {
        const after = following.orchestrator.files.attemptAfter(logRef.jobId, logRef.attempt);
        sendEvent(stream, { type: 'end', next_attempt: after }, next);
        return stream.end();
      }
      await waitFor(changed.promise, maxMs, controller.signal);
      await waitFor(null, minMs, controller.signal);
    }
  } catch (cause) {
    log.warn('log.not_read', { job_id: logRef.jobId, cause });
    response.destroy();
  } finally {
    unwatch();
  }
}

const sendEvent = (stream: EventStream, event: LogEvent, next: number): void => stream.send(event, next);

/** Sends the complete lines up to `facts.totalLines`. Returns the number of the next line to send. */
async function sendLines(
  { files, logRef, stream, lineOf }: LogFollowing,
  facts: LogFacts,
  from: number,
  gone: AbortSignal,
): Promise<number> {
  // Retention of logs may have removed earlier lines.
  let next = Math.max(from, Math.min(facts.firstLine, facts.totalLines));
  if (next >= facts.totalLines) return from;
  for await (const batch of files.lines(logRef.jobId, logRef.attempt, next, maxLineBytes)) {
    for (const lines of eventsOf(batch.filter(({ line }) => line < facts.totalLines))) {
      if (gone.aborted) return next;
      next = (lines.at(-1)?.line ?? next) + 1;
      const isAll = next === facts.totalLines;
      sendEvent(
        stream,
        { type: 'lines', lines: lines.map(lineOf), open_line: isAll ? facts.openLine : null },
        next,
      );
      if (stream.isFull()) await roomIn(stream, gone);
    }
    if (next >= facts.totalLines) break;
  }
  return next;
}

function* eventsOf(lines: readonly StoredLine[]): Generator<readonly StoredLine[], void> {
  let event: StoredLine[] = [];
  let size = 0;
  for (const line of lines) {
    if (event.length > 0 && (event.length === maxInEvent.lines || size > maxInEvent.characters)) {
      yield event;
      event = [];
      size = 0;
    }
    event.push(line);
    size += line.text.length;
  }
  if (event.length > 0) yield event;
}

const roomIn = (stream: EventStream, gone: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    stream.onRoom(resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
  });

/** Waits until `what` resolves, but at most `limitMs`. With null, waits for `limitMs`. */
async function waitFor(what: Promise<void> | null, limitMs: number, gone: AbortSignal): Promise<void> {
  const timeout = new AbortController();
  const limit = pause(limitMs, undefined, { signal: AbortSignal.any([timeout.signal, gone]) }).catch(
    () => undefined,
  );
  await (what === null ? limit : Promise.race([what, limit]));
  timeout.abort();
}
