import { setTimeout as pause } from 'node:timers/promises';
import type { Response } from 'express';
import type { LogEvent, LogLine } from '../../protocol/logs-api.ts';
import type { LogPlace, Orchestrator } from '../orchestrator/index.ts';
import type { Log, LogFacts, LogFiles, StoredLine } from '../orchestrator/ports.ts';
import type { EventStream } from './sse.ts';

export interface LogFollowing {
  readonly orchestrator: Pick<Orchestrator, 'isLogOver' | 'attemptAfter'>;
  readonly files: LogFiles;
  readonly place: LogPlace;
  /** The first line that is wanted. */
  readonly from: number;
  readonly stream: EventStream;
  readonly response: Response;
  readonly lineOf: (line: StoredLine) => LogLine;
  readonly log: Log;
}

const mostShown = 16_384;
/** Between two looks: what a bar is at is told four times a second at most. */
const shortestMs = 250;
/** That an attempt is over may follow from the time alone. */
const longestMs = 5_000;
/** Of one event. A character may take six as JSON. */
const mostInEvent = { lines: 500, characters: 32_768 };

/**
 * Tells the past and then what comes, each line once, at the reader's pace: what is read is taken from the files, so that nothing
 * piles up for somebody who is slow.
 */
export async function followLog(following: LogFollowing): Promise<void> {
  const { files, place, stream, response, log } = following;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  let changed = Promise.withResolvers<void>();
  const unwatch = files.watch(place.jobId, place.attempt, () => changed.resolve());
  try {
    let next = following.from;
    let told: string | null | undefined;
    while (!gone.signal.aborted) {
      changed = Promise.withResolvers();
      const facts = await files.facts(place.jobId, place.attempt);
      // Deleted: who comes back is told so.
      if (facts === null) return stream.end();
      const before = next;
      next = await tellLines(following, facts, next, gone.signal);
      if (next !== before) told = next < facts.totalLines ? undefined : facts.openLine;
      if (told !== facts.openLine)
        tell(stream, { type: 'lines', lines: [], open_line: facts.openLine }, next);
      told = facts.openLine;
      if (next < facts.totalLines) {
        // What was to be read has had to make room meanwhile.
        if (next === before) await waitFor(null, shortestMs, gone.signal);
        continue;
      }
      if (following.orchestrator.isLogOver(place.jobId, place.attempt, facts)) {
        const after = following.orchestrator.attemptAfter(place.jobId, place.attempt);
        tell(stream, { type: 'end', next_attempt: after }, next);
        return stream.end();
      }
      await waitFor(changed.promise, longestMs, gone.signal);
      await waitFor(null, shortestMs, gone.signal);
    }
  } catch (cause) {
    log.warn('log.not_read', { job_id: place.jobId, cause });
    response.destroy();
  } finally {
    unwatch();
  }
}

const tell = (stream: EventStream, event: LogEvent, next: number): void => stream.send(event, next);

/** Whole lines as far as the facts count them; answers with the one behind those that were told. */
async function tellLines(
  { files, place, stream, lineOf }: LogFollowing,
  facts: LogFacts,
  from: number,
  gone: AbortSignal,
): Promise<number> {
  // Those before it have had to make room.
  let next = Math.max(from, Math.min(facts.firstLine, facts.totalLines));
  if (next >= facts.totalLines) return from;
  for await (const portion of files.lines(place.jobId, place.attempt, next, mostShown)) {
    for (const lines of eventsOf(portion.filter(({ line }) => line < facts.totalLines))) {
      if (gone.aborted) return next;
      next = (lines.at(-1)?.line ?? next) + 1;
      const isAll = next === facts.totalLines;
      tell(
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
    if (event.length > 0 && (event.length === mostInEvent.lines || size > mostInEvent.characters)) {
      yield event;
      [event, size] = [[], 0];
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

/** At most so long; null: just as long. */
async function waitFor(what: Promise<void> | null, mostMs: number, gone: AbortSignal): Promise<void> {
  const over = new AbortController();
  const limit = pause(mostMs, undefined, { signal: AbortSignal.any([over.signal, gone]) }).catch(
    () => undefined,
  );
  await (what === null ? limit : Promise.race([what, limit]));
  over.abort();
}
