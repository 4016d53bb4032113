/**
 * A worker of Trainyard runs one job at a time, and so there are as many of them as there are jobs at once: all in one process, each with
 * its stream of orders and its connection. A worker says two things of a job, that it has it and that it has ended, and waits for
 * the answer to each: what is answered is on disk.
 */
import { openLane } from '../lane.ts';
import { followOrders, type Identity, report, submit } from '../workers.ts';
import type { Heard, Peer } from './peer.ts';

export interface TrainyardPlace {
  readonly url: string;
  readonly adminToken: string;
  /** Of the workers, which are registered: at least as many as there are to be jobs at once. */
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

  openWorker: async (place, atOnce, heard) => {
    const { url, identities } = JSON.parse(place) as TrainyardPlace;
    await Promise.all(identities.slice(0, atOnce).map(identity => followAndAnswer(url, identity, heard)));
    return { untilKept: async () => {} };
  },
};

async function followAndAnswer(url: string, identity: Identity, heard: Heard): Promise<void> {
  const lane = openLane(url, identity.headers);
  await followOrders({ url }, identity, offer => {
    const live = async (): Promise<void> => {
      await report(lane, offer, 'starting');
      heard.started(Number(offer.config['mark']));
      await report(lane, offer, 'completed');
      heard.ended();
    };
    void live();
  });
}
