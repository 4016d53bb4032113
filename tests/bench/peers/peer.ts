/**
 * The environment variable with the place, for both programs. The place contains tokens, which the process list must
 * not show.
 */
export const placeVariable = 'BENCH_PLACE';

/**
 * The interface of a queue for the benchmark: one process adds jobs, another runs them. `place` is JSON whose shape
 * depends on the queue.
 */
export interface Peer {
  /** Resolves when it is ready to add. `atOnce`: how many adds run at the same time. */
  openAdder(place: string, atOnce: number): Promise<Adder>;
  /** Takes jobs from now on, `atOnce` at a time. The jobs do nothing. */
  openWorker(place: string, atOnce: number, heard: Heard): Promise<Work>;
}

export interface Adder {
  /** Resolves when the job is on disk. `mark`: its number, counted from 0, by which the worker identifies it. */
  add(mark: number): Promise<void>;
}

/** The callbacks of a worker. */
export interface Heard {
  /** The queue knows that this worker has the job, and the actual work would start. */
  started(mark: number): void;
  ended(): void;
}

export interface Work {
  /** Resolves when each reported end is on disk. */
  untilKept(): Promise<void>;
}
