import type { Job, Tx } from '../orchestrator/ports/index.ts';
import type { JobStatements, PayloadTexts } from './rows/job-rows.ts';
import { wrapEach } from './db/wrap-each.ts';

/** Any other call in the same command could observe the missing row. */
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
  /** Runs a command. Writes a delayed row at its end, or discards it if the command throws. */
  within<T>(command: () => T): T;
}

/**
 * Delays the INSERT of a new job until another call could observe it. A job that is dispatched by the command that submits it is
 * thus written once.
 */
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
