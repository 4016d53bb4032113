/** BullMQ with its default settings and the Redis client that its guide recommends. */
import { configOf } from '../workers.ts';
import { loadPackage } from './packages.ts';
import type { Peer } from './peer.ts';

/** The part of the package's API that this file uses. */
interface Package {
  readonly Queue: new (
    name: string,
    options: Options,
  ) => { add(name: string, data: object): Promise<unknown> };
  readonly Worker: new (
    name: string,
    work: (job: { readonly data: { readonly mark: number } }) => Promise<void>,
    options: Options & { readonly concurrency: number },
  ) => { on(event: 'completed', listener: () => void): void; waitUntilReady(): Promise<unknown> };
}

interface Options {
  readonly connection: { readonly path: string; readonly maxRetriesPerRequest: null };
}

export interface RedisAddress {
  readonly packages: string;
  readonly socket: string;
}

const queueName = 'bench';

function open(address: string): { readonly bullmq: Package; readonly options: Options } {
  const { packages, socket } = JSON.parse(address) as RedisAddress;
  const bullmq = loadPackage(packages, 'bullmq') as Package;
  return { bullmq, options: { connection: { path: socket, maxRetriesPerRequest: null } } };
}

export const bullmq: Peer = {
  openAdder: async address => {
    const { bullmq: library, options } = open(address);
    const queue = new library.Queue(queueName, options);
    return { add: async mark => void (await queue.add('job', configOf(mark))) };
  },

  openWorker: async (address, concurrency, callbacks) => {
    const { bullmq: library, options } = open(address);
    const work = async ({ data }: { readonly data: { readonly mark: number } }): Promise<void> =>
      callbacks.started(data.mark);
    const worker = new library.Worker(queueName, work, { ...options, concurrency });
    // BullMQ emits `completed` only after Redis has stored the completion, so `untilDurable` has nothing to wait for.
    worker.on('completed', () => callbacks.ended());
    await worker.waitUntilReady();
    return { untilDurable: async () => {} };
  },
};
