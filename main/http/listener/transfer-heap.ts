import type { ServerResponse } from 'node:http';

/** Lets the heap grow further between two garbage collections while large bodies are transferred (docs/adr/0034). */
export interface TransferHeap {
  /** Counts a transfer until its response closes. */
  track(response: Pick<ServerResponse, 'once'>): void;
}

/** Growth of the heap between two collections, in percent of its live size; 0 means the default of V8. */
const growth = { usual: 0, duringTransfers: 300 } as const;

/** `setGrowth` sets the growth for the V8 of this process. */
export function createTransferHeap(setGrowth: (percent: number) => void): TransferHeap {
  let transfers = 0;
  return {
    track(response) {
      transfers += 1;
      if (transfers === 1) setGrowth(growth.duringTransfers);
      response.once('close', () => {
        transfers -= 1;
        if (transfers === 0) setGrowth(growth.usual);
      });
    },
  };
}
