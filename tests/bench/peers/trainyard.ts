/**
 * Trainyard in the comparison. A worker runs one job at a time, so one process runs as many workers as concurrent jobs. Each
 * worker has its own stream and connection. It reports the start and the completion of each job, and waits for both responses. The
 * server responds only after a report is on disk.
 */
import { openConnection } from '../http-connection.ts';
import { followOffers, type Identity, report, submit } from '../workers.ts';
import type { WorkerCallbacks, Peer } from './peer.ts';

export interface TrainyardAddress {
  readonly url: string;
  readonly adminToken: string;
  /** The registered workers, at least as many as concurrent jobs. */
  readonly identities: readonly Identity[];
}

export const trainyard: Peer = {
  openAdder: async (address, concurrency) => {
    const { url, adminToken } = JSON.parse(address) as TrainyardAddress;
    const connections = Array.from({ length: concurrency }, () =>
      openConnection(url, { authorization: `Bearer ${adminToken}` }),
    );
    return {
      async add(mark) {
        const connection = connections[mark % concurrency];
        if (connection !== undefined) await submit(connection, mark);
      },
    };
  },

  openWorker: async (address, concurrency, callbacks) => {
    const { url, identities } = JSON.parse(address) as TrainyardAddress;
    await Promise.all(
      identities.slice(0, concurrency).map(identity => connectWorker(url, identity, callbacks)),
    );
    return { untilDurable: async () => {} };
  },
};

async function connectWorker(url: string, identity: Identity, callbacks: WorkerCallbacks): Promise<void> {
  const connection = openConnection(url, identity.headers);
  await followOffers({ url }, identity, offer => {
    const runJob = async (): Promise<void> => {
      await report(connection, offer, 'starting');
      callbacks.started(Number(offer.config['mark']));
      await report(connection, offer, 'completed');
      callbacks.ended();
    };
    void runJob();
  });
}
