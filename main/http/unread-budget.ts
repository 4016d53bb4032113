import type { Response } from 'express';

/** What the budget needs of a stream: how much of it waits to be read, and a way to cut it off. */
export type Unread = Pick<Response, 'writableLength' | 'destroy'>;

/** Bounds the bytes that wait for all readers of streams together. */
export interface UnreadBudget {
  /** After every write: counts what this stream has waiting, and cuts off the readers furthest behind when it is too much. */
  note(stream: Unread): void;
  forget(stream: Unread): void;
}

/** Of all streams together. A reader that is cut off resumes after the last event it has seen. */
export const mostUnreadInAll = 32 * 1_048_576;
/** Less than this is on its way to a reader that keeps up. */
const passingBytes = 16_384;
/** After cutting off there is room for a while: it is not done again with the next write. */
const keptShare = 3 / 4;

export function createUnreadBudget(mostBytes: number): UnreadBudget {
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
    // Some have read since they were counted.
    for (const stream of held.keys()) measure(stream);
    if (total <= mostBytes) return;
    const furthestFirst = [...held].toSorted(([, a], [, b]) => b - a);
    for (const [stream] of furthestFirst) {
      if (total <= mostBytes * keptShare) return;
      set(stream, 0);
      stream.destroy();
    }
  };
  return {
    note(stream) {
      measure(stream);
      if (total > mostBytes) cutOff();
    },
    forget: stream => set(stream, 0),
  };
}
