/** Of the environment of the two programs: it has the place, with its tokens, which are nothing for the list of processes. */
export const placeVariable = 'BENCH_PLACE';

/** What a queue has to be for the bench: one process adds, and another works off. `place` is JSON, of the queue's own kind. */
export interface Peer {
  /** Ready to add, with all that the queue needs for it; `atOnce`: how many adds it has to carry at a time. */
  openAdder(place: string, atOnce: number): Promise<Adder>;
  /** Takes jobs from now on, so many at once, and does nothing in them. */
  openWorker(place: string, atOnce: number, heard: Heard): Promise<Work>;
}

export interface Adder {
  /** Resolves when the job is on disk. `mark`: its number, from 0 on, by which it is known at the worker. */
  add(mark: number): Promise<void>;
}

/** Who listens to a worker. */
export interface Heard {
  /** The queue knows that this worker has the job, and what it asks for would begin. */
  started(mark: number): void;
  ended(): void;
}

export interface Work {
  /** Resolves when each end that was heard of is on disk. */
  untilKept(): Promise<void>;
}
