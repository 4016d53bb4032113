/**
 * Trainyard in the comparison. A worker runs one job at a time, so there are as many workers as concurrent jobs, all in
 * one process, each with its own stream and connection. A worker reports that it has the job and that the job has
 * ended, and waits for both answers. An answered report is on disk.
 */
import { openLane } from '../lane.ts';
import { followOrders, type Identity, report, submit } from '../workers.ts';
import type { WorkerCallbacks, Peer } from './peer.ts';

export interface TrainyardPlace {
  readonly url: string;
  readonly adminToken: string;
  /** The registered workers, at least as many as concurrent jobs. */
  readonly identities: readonly Identity[];
}

export const trainyard: Peer = {
  openAdder: async (place, atOnce) => {
    const { url, adminToken } = JSON.parse(place) as TrainyardPlace;
    const lanes = Array.from({ length: atOnce }, () =>
      openLane(url, { authorization: `Bearer ${adminToken}` }),
    );
    return {
      async add(mark) {
        const lane = lanes[mark % atOnce];
        if (lane !== undefined) await submit(lane, mark);
      },
    };
  },

  openWorker: async (place, atOnce, callbacks) => {
    const { url, identities } = JSON.parse(place) as TrainyardPlace;
    await Promise.all(identities.slice(0, atOnce).map(identity => followAndAnswer(url, identity, callbacks)));
    return { untilDurable: async () => {} };
  },
};

async function followAndAnswer(url: string, identity: Identity, callbacks: WorkerCallbacks): Promise<void> {
  const lane = openLane(url, identity.headers);
  await followOrders({ url }, identity, offer => {
    const runJob = async (): Promise<void> => {
      await report(lane, offer, 'starting');
      callbacks.started(Number(offer.config['mark']));
      await report(lane, offer, 'completed');
      callbacks.ended();
    };
    void runJob();
  });
}
