import type { StoredEvent } from '../events.ts';
import type { Log, Read } from '../ports/index.ts';

/** Flow control for a reader of past events. */
export interface Pace {
  /** Whether the reader can take no more events now. */
  isFull(): boolean;
  /** Calls `run` once when the reader has room again. */
  onRoom(run: () => void): void;
}

/** Receives events in the order of their numbers. `reset` reports that some events before `seq` are no longer stored. */
export interface FeedReader {
  event(event: StoredEvent): void;
  reset(seq: number): void;
  /** Omit it to receive everything at once. */
  readonly pace?: Pace | undefined;
}

export interface Feed {
  publish(event: StoredEvent): void;
  /**
   * Starts after event `after` (null: with the next event), without gaps or repeats, even if an event is being
   * published right now. Past events arrive at the reader's pace. Returns a function that ends the subscription.
   */
  subscribe(after: number | null, reader: FeedReader): () => void;
}

const pageSize = 1_000;

export function createFeed(read: Pick<Read, 'eventsAfter' | 'eventRange'>, log: Log): Feed {
  /** Readers that have caught up. */
  const readers = new Set<FeedReader>();

  /** Sends past events until the reader has caught up or is full. */
  const readOn = (after: number, reader: FeedReader, isOver: () => boolean): void => {
    const { first, last } = read.eventRange();
    if (after > last || after < first - 1) {
      reader.reset(last);
      readers.add(reader);
      return;
    }
    // All in one turn of the event loop, so that nothing commits between the last page and `readers.add`.
    let seq = after;
    for (;;) {
      const page = read.eventsAfter(seq, pageSize);
      for (const event of page) {
        reader.event(event);
        seq = event.seq;
        if (reader.pace?.isFull()) return reader.pace.onRoom(() => readLater(seq, reader, isOver));
      }
      if (page.length < pageSize) break;
    }
    readers.add(reader);
  };

  const readLater = (after: number, reader: FeedReader, isOver: () => boolean): void => {
    if (isOver()) return;
    try {
      readOn(after, reader, isOver);
    } catch (cause) {
      log.error('feed.reader_failed', { cause });
    }
  };

  return {
    publish(event) {
      for (const reader of readers) {
        try {
          reader.event(event);
        } catch (cause) {
          readers.delete(reader);
          log.error('feed.reader_failed', { cause });
        }
      }
    },
    subscribe(after, reader) {
      let isOver = false;
      if (after === null) readers.add(reader);
      else readOn(after, reader, () => isOver);
      return () => {
        isOver = true;
        readers.delete(reader);
      };
    },
  };
}
