/**
 * plainjob, a queue library on better-sqlite3 without a server. The process that adds jobs and the process that runs jobs open
 * the same file.
 */
import Database from 'better-sqlite3';
import { configOf } from '../workers.ts';
import { loadPackage } from './packages.ts';
import type { Peer } from './peer.ts';

/** The part of the package's API that this file uses. */
interface Package {
  better(database: Database.Database): unknown;
  defineQueue(options: { readonly connection: unknown; readonly logger: object }): Queue;
  defineWorker(
    type: string,
    run: (job: { readonly data: string }) => void,
    options: WorkerOptions,
  ): { start(): Promise<void> };
}

interface Queue {
  add(type: string, data: object): unknown;
}

interface WorkerOptions {
  readonly queue: Queue;
  readonly logger: object;
  readonly pollIntervall: number;
  readonly onCompleted: () => void;
}

export interface PlainjobAddress {
  readonly packages: string;
  readonly file: string;
  /**
   * plainjob's default is NORMAL, with which SQLite syncs only at checkpoints. With FULL, SQLite syncs each commit, as in
   * Trainyard.
   */
  readonly synchronous: 'FULL' | 'NORMAL';
}

const jobType = 'bench';
const logNothing = (): void => {};
const logger = { debug: logNothing, info: logNothing, warn: logNothing, error: console.error };
/** Polling interval in ms. plainjob's default of 1,000 would dominate the latency. */
const pollMs = 1;

function open(address: string): { readonly library: Package; readonly queue: Queue } {
  const { packages, file, synchronous } = JSON.parse(address) as PlainjobAddress;
  const library = loadPackage(packages, 'plainjob') as Package;
  const database = new Database(file);
  const queue = library.defineQueue({ connection: library.better(database), logger });
  database.pragma(`synchronous = ${synchronous}`);
  return { library, queue };
}

export const plainjob: Peer = {
  openAdder: async address => {
    const { queue } = open(address);
    return { add: async mark => void queue.add(jobType, configOf(mark)) };
  },

  // Use one worker, which is the fastest: each call blocks the process, and the jobs do nothing.
  openWorker: async (address, _concurrency, callbacks) => {
    const { library, queue } = open(address);
    const run = ({ data }: { readonly data: string }): void =>
      callbacks.started((JSON.parse(data) as { readonly mark: number }).mark);
    const options = { queue, logger, pollIntervall: pollMs, onCompleted: callbacks.ended };
    void library.defineWorker(jobType, run, options).start();
    return { untilDurable: async () => {} };
  },
};
