import type { Run, RunEars } from '../../../agent/run.ts';

/** A trainer in the test's hands. */
export interface HeldRun {
  readonly ears: RunEars;
  /** The grace of every stop, in ms. */
  readonly stops: readonly number[];
  readonly end: (code: number | null, signal?: string | null, tail?: string) => void;
}

export function holdRun(
  ears: RunEars,
  onStop: (graceMs: number) => void = () => {},
): HeldRun & { readonly run: Run } {
  const ended = Promise.withResolvers<Awaited<Run['finished']>>();
  const stops: number[] = [];
  const stop = (graceMs: number): void => {
    stops.push(graceMs);
    onStop(graceMs);
  };
  return {
    ears,
    stops,
    end: (code, signal = null, tail = '') => ended.resolve({ code, signal, tail }),
    run: { pid: 4711, finished: ended.promise, stop },
  };
}

/** Lets everything happen that waits for nothing but its turn. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** The last element, which has to be there. */
export function newest<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new Error('nothing has happened yet');
  return last;
}

/** Ends a run and lets happen what follows from it. */
export function endRun({ end }: HeldRun, ...how: Parameters<HeldRun['end']>): Promise<void> {
  end(...how);
  return turn();
}
