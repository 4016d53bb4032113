import type { Attempt, Job, WallMs } from '../model.ts';
import type { LogFacts } from '../ports/index.ts';

/** Time within which a worker sends the rest of an ended attempt's log: it has nothing else to do with that attempt. */
const lastChunksMs = 120_000;

/**
 * Whether no more of a log is expected: its end has arrived, or the attempt is over and its worker has sent nothing for
 * a while. A lost worker may still return later and send the rest.
 */
export function isOver(
  job: Job,
  attempt: Attempt | null,
  facts: Pick<LogFacts, 'isEnded' | 'lastAt'> | null,
  now: WallMs,
): boolean {
  if (facts?.isEnded === true) return true;
  const endedAt = attempt === null ? 0 : (attempt.end?.at ?? ('endedAt' in job ? job.endedAt : null));
  return endedAt !== null && now - Math.max(endedAt, facts?.lastAt ?? 0) > lastChunksMs;
}

/**
 * Control characters are replaced, except tabs, line ends and escapes. Escapes make colours, and viewers decide how to
 * show them.
 */
const escape = '\u001b';
const unwanted = new RegExp(`(?![\\t\\n\\r${escape}])\\p{Cc}`, 'gu');

/** Makes any trainer output safe to store: it may contain invalid Unicode and control characters. */
export const cleanOutput = (text: string): string => text.toWellFormed().replaceAll(unwanted, '\ufffd');
