import type { Job, Tx } from '../orchestrator/ports.ts';
import type { JobStatements, PayloadTexts } from './job-rows.ts';
import { wrapEach } from './wrap-each.ts';

/** Whatever else is asked for in the same command could tell the difference. */
const unconcerned: ReadonlySet<string> = new Set<keyof Tx>([
  'appendEvent',
  'worker',
  'updateWorker',
  'dropOldToken',
  'uploadGenerations',
  'queueSettings',
  'apiTokenByName',
]);

export interface LateEntry<R> {
  readonly rows: R;
  /** Runs a command: what still waits at its end is written then, and forgotten if it throws. */
  within<T>(command: () => T): T;
}

/** A job that is given out by the very command that enters it is written once, as it is by then: its row waits for as long as nobody could tell. */
export function enterLate<R extends JobStatements>(rows: R): LateEntry<R> {
  let entry: { readonly job: Job; readonly texts: PayloadTexts } | null = null;
  const write = (job: Job, texts: PayloadTexts): void => {
    entry = null;
    rows.insertJob(job, texts);
  };
  const settle = (): void => {
    if (entry !== null) write(entry.job, entry.texts);
  };
  const settled = wrapEach(rows, (call, name) => {
    if (unconcerned.has(name)) return call;
    return (...input) => {
      settle();
      return call(...input);
    };
  });
  return {
    rows: {
      ...settled,
      insertJob(job, texts) {
        settle();
        entry = { job, texts };
      },
      replaceJob(was, next) {
        if (entry?.job !== was) return settled.replaceJob(was, next);
        write(next, entry.texts);
        return true;
      },
    },
    within(command) {
      try {
        const value = command();
        settle();
        return value;
      } finally {
        entry = null;
      }
    },
  };
}
