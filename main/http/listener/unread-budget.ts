import type { Response } from 'express';

/** The parts of a stream that the budget uses: its number of unread bytes, and a way to disconnect it. */
export type Unread = Pick<Response, 'writableLength' | 'destroy'>;

/** Limits the unread bytes of all event streams together. */
export interface UnreadBudget {
  /** Call after every write. It counts the stream's unread bytes, and disconnects the slowest clients when the total is too high. */
  note(stream: Unread): void;
  forget(stream: Unread): void;
}

/** For all streams together. A disconnected client resumes after the last event it received. */
export const maxUnreadInAll = 32 * 1_048_576;
/** A client that keeps up has fewer unread bytes than this. */
const passingBytes = 16_384;
/** Disconnecting continues down to this share of the limit, so that the next write does not trigger it again. */
const keptShare = 3 / 4;

export function createUnreadBudget(maxBytes: number): UnreadBudget {
  const held = new Map<Unread, number>();
  let total = 0;
  const set = (stream: Unread, bytes: number): void => {
    total += bytes - (held.get(stream) ?? 0);
    if (bytes === 0) held.delete(stream);
    else held.set(stream, bytes);
  };
  const measure = (stream: Unread): void =>
    set(stream, stream.writableLength > passingBytes ? stream.writableLength : 0);
  const cutOff = (): void => {
    // Some clients have read data since they were counted.
    for (const stream of held.keys()) measure(stream);
    if (total <= maxBytes) return;
    const furthestFirst = [...held].toSorted(([, a], [, b]) => b - a);
    for (const [stream] of furthestFirst) {
      if (total <= maxBytes * keptShare) return;
      set(stream, 0);
      stream.destroy();
    }
  };
  return {
    note(stream) {
      measure(stream);
      if (total > maxBytes) cutOff();
    },
    forget: stream => set(stream, 0),
  };
}
