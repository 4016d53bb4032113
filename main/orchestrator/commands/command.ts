import type { Core } from '../core.ts';
import type { Tx } from '../ports/index.ts';
import { dispatch } from './dispatch.ts';

/**
 * Runs a command that may make a job or a worker available: acts in one transaction, and dispatches pending jobs in it.
 * Resolves when the transaction is on disk, with what `act` has returned.
 */
export const command = <T>(core: Core, act: (tx: Tx) => T): Promise<T> =>
  commandWithAnswer(core, act, (_tx, done) => done);

/** Like `command`. Resolves with an answer that is computed after the dispatch. */
export const commandWithAnswer = <T, A>(
  core: Core,
  act: (tx: Tx) => T,
  answer: (tx: Tx, done: T) => A,
): Promise<A> =>
  core.store.write(tx => {
    const done = act(tx);
    dispatch(core, tx);
    return answer(tx, done);
  });

/** Like `command`, if nobody waits for the result. Logs a failure. */
export const enqueueCommand = (core: Core, act: (tx: Tx) => void): void =>
  core.enqueue(tx => {
    act(tx);
    dispatch(core, tx);
  });

/** Dispatches now. Returns the number of jobs dispatched. It should be 0, because every command dispatches. */
export const dispatchNow = (core: Core): Promise<number> => core.store.write(tx => dispatch(core, tx));
