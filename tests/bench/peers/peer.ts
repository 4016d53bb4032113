/**
 * Name of the environment variable with the place of a queue. The place may contain tokens, which other users could see
 * in the arguments of a process.
 */
export const placeVariable = 'BENCH_PLACE';

/**
 * A queue in the comparison. One process adds jobs, another one runs them. `place` is JSON that says how to reach the
 * queue; its shape depends on the queue.
 */
export interface Peer {
  /** Resolves when jobs can be added. `atOnce`: the number of concurrent adds. */
  openAdder(place: string, atOnce: number): Promise<Adder>;
  /** Starts to run jobs, `atOnce` at a time. The jobs do nothing. */
  openWorker(place: string, atOnce: number, callbacks: WorkerCallbacks): Promise<Work>;
}

export interface Adder {
  /** Resolves when the job is on disk. `mark`: its number from 0 on, by which the worker reports it. */
  add(mark: number): Promise<void>;
}

/** The callbacks of a worker. */
export interface WorkerCallbacks {
  /** Called when the queue has recorded that this worker has the job, so that the actual work could begin. */
  started(mark: number): void;
  ended(): void;
}

export interface Work {
  /** Resolves when all ends reported so far are on disk. */
  untilDurable(): Promise<void>;
}
