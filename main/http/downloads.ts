import type { Response } from 'express';
import type { Pace } from './receive-body.ts';

/** How many downloads run at once, and how slow a reader may be. */
export interface DownloadLimits {
  readonly inAll: number;
  /** One client: its address, or the name of its token. Less than `inAll`, so that no client can keep the others out. */
  readonly perAddress: number;
  readonly pace: Pace;
}

/**
 * A site that starts 32 machines at once behind one address gets all of them through; the next ones retry. The span is long because a
 * system with large send buffers reports progress in steps of a megabyte.
 */
export const downloadLimits: DownloadLimits = {
  inAll: 256,
  perAddress: 32,
  pace: { spanMs: 60_000, leastBytes: 65_536 },
};

/** Counts the downloads that are in progress, in total and by client. */
export interface Downloads {
  /** Reserves a place until the response closes, or returns false when there is none. Ends a reader that is too slow. */
  admit(address: string, response: Response): boolean;
}

export function createDownloads({ inAll, perAddress, pace }: DownloadLimits): Downloads {
  const byAddress = new Map<string, number>();
  let total = 0;
  const add = (address: string, change: 1 | -1): void => {
    const count = (byAddress.get(address) ?? 0) + change;
    total += change;
    if (count === 0) byAddress.delete(address);
    else byAddress.set(address, count);
  };
  return {
    admit(address, response) {
      if (total >= inAll || (byAddress.get(address) ?? 0) >= perAddress) return false;
      add(address, 1);
      const stop = endWhenSlow(response, pace);
      response.once('close', () => {
        stop();
        add(address, -1);
      });
      return true;
    },
  };
}

/** Compares what the network has taken at the end of each span. One byte now and then does not hold a place. */
function endWhenSlow(response: Response, { spanMs, leastBytes }: Pace): () => void {
  let before = takenBy(response);
  const timer = setInterval(() => {
    const taken = takenBy(response);
    if (taken - before < leastBytes) response.destroy();
    before = taken;
  }, spanMs);
  return () => clearInterval(timer);
}

/** Bytes that have left this process; the socket counts those that still wait in it as written. */
const takenBy = ({ socket }: Response): number =>
  socket === null ? 0 : socket.bytesWritten - socket.writableLength;
