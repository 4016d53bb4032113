import type { Attempt, Job, WallMs } from './model.ts';
import type { LogFacts } from './ports.ts';

/** What is still to come of an attempt that is over comes within this: its worker has nothing else to do with it. */
const lastChunksMs = 120_000;

/**
 * Whether nothing more of a log is to be expected: its end has come, or the attempt is over and its worker has sent nothing for a
 * while. One that was lost may come back later, and bring the rest all the same.
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

/** What a terminal would obey, but tabs, line ends and escapes: those make colours, and who shows them decides. */
const escape = '\u001b';
const unwanted = new RegExp(`(?![\\t\\n\\r${escape}])\\p{Cc}`, 'gu');

/** What trainers print may be anything. */
export const cleanOutput = (text: string): string => text.toWellFormed().replaceAll(unwanted, '\ufffd');
