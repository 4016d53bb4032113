/**
 * Name of the environment variable with the address of a queue. The address is not an argument, because it may contain tokens,
 * and other users can see the arguments of a process.
 */
export const addressVariable = 'BENCH_ADDRESS';

/**
 * A queue in the comparison. One process adds jobs, and another process runs them. `address`: JSON with the location of the
 * queue, in a shape that depends on the queue.
 */
export interface Peer {
  /** Resolves when the queue accepts jobs. `concurrency`: the maximum number of concurrent adds. */
  openAdder(address: string, concurrency: number): Promise<Adder>;
  /** Starts running jobs, `concurrency` at a time. The jobs do nothing. */
  openWorker(address: string, concurrency: number, callbacks: WorkerCallbacks): Promise<Work>;
}

export interface Adder {
  /** Adds a job, and resolves when it is on disk. `mark`: the number of the job, from 0. */
  add(mark: number): Promise<void>;
}

/** The callbacks of a worker. */
export interface WorkerCallbacks {
  /** Called when the queue has recorded that this worker runs the job, so that real work could start. */
  started(mark: number): void;
  ended(): void;
}

export interface Work {
  /** Resolves when the ends of all jobs that the callback `ended` has reported so far are on disk. */
  untilDurable(): Promise<void>;
}
