import type { Response } from 'express';
import type { Pace } from '../uploads/receive-body.ts';

/** Maximum number of concurrent downloads, and minimum speed of a client. */
export interface DownloadLimits {
  readonly inAll: number;
  /**
   * Maximum per client, which is an address or the name of a token. The limit is less than `inAll`, so that one client cannot
   * block the others.
   */
  readonly perAddress: number;
  readonly pace: Pace;
}

/**
 * A site that starts 32 machines behind one address gets all downloads at the same time. Further machines retry. The time span is
 * long, because a system with large send buffers reports progress in steps of a megabyte.
 */
export const downloadLimits: DownloadLimits = {
  inAll: 256,
  perAddress: 32,
  pace: { spanMs: 60_000, minBytes: 65_536 },
};

/** Counts the downloads in progress, of each client and in total. */
export interface Downloads {
  /**
   * Counts a download until its response closes. Returns false when a limit is reached. Ends the response when the client reads
   * too slowly.
   */
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

/**
 * Destroys the response when fewer than `minBytes` leave this process in a time span. Otherwise a client could block a slot by
 * reading a byte now and then.
 */
function endWhenSlow(response: Response, { spanMs, minBytes }: Pace): () => void {
  let before = takenBy(response);
  const timer = setInterval(() => {
    const taken = takenBy(response);
    if (taken - before < minBytes) response.destroy();
    before = taken;
  }, spanMs);
  return () => clearInterval(timer);
}

/**
 * Returns the number of bytes that have left this process. The socket's count includes bytes that are still buffered, so those
 * are subtracted.
 */
const takenBy = ({ socket }: Response): number =>
  socket === null ? 0 : socket.bytesWritten - socket.writableLength;
