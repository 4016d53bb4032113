/**
 * Name of the environment variable with the address of a queue. The address is not an argument, because it may contain tokens
 * and other users can see the arguments of a process.
 */
export const addressVariable = 'BENCH_ADDRESS';

/**
 * A queue in the comparison. One process adds jobs, another one runs them. `address` is JSON that says how to reach the
 * queue; its shape depends on the queue.
 */
export interface Peer {
  /** Resolves when jobs can be added. `concurrency`: the number of concurrent adds. */
  openAdder(address: string, concurrency: number): Promise<Adder>;
  /** Starts to run jobs, `concurrency` at a time. The jobs do nothing. */
  openWorker(address: string, concurrency: number, callbacks: WorkerCallbacks): Promise<Work>;
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
