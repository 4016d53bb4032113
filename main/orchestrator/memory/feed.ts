import type { StoredEvent } from '../events.ts';
import type { Log, Read } from '../ports/index.ts';

/** Flow control for a reader of past events. */
export interface Pace {
  /** Returns true if the reader cannot receive more events now. */
  isFull(): boolean;
  /** Calls `run` once, when the reader can receive events again. */
  onRoom(run: () => void): void;
}

/**
 * Receives events in the order of their numbers. `reset`: the reader must read the whole state again, because events up to
 * `seq` are missing.
 */
export interface FeedReader {
  event(event: StoredEvent): void;
  reset(seq: number): void;
  /** If absent, the reader receives all past events in one batch. */
  readonly pace?: Pace | undefined;
}

export interface Feed {
  publish(event: StoredEvent): void;
  /**
   * Sends all events after number `after`; with null, only new events. Sends each event once, even if it is published during
   * the call. Past events are sent at the reader's pace. Returns a function that ends the subscription.
   */
  subscribe(after: number | null, reader: FeedReader): () => void;
}

/** Number of past events that one query reads. */
const pageSize = 1_000;

export function createFeed(read: Pick<Read, 'eventsAfter' | 'eventRange'>, log: Log): Feed {
  /** Readers that have received all past events. */
  const readers = new Set<FeedReader>();

  /** Sends past events until the reader has received all of them, or cannot receive more now. */
  const readOn = (after: number, reader: FeedReader, isOver: () => boolean): void => {
    const { first, last } = read.eventRange();
    if (after > last || after < first - 1) {
      reader.reset(last);
      readers.add(reader);
      return;
    }
    // This loop is synchronous, so that nothing is committed between the last page and `readers.add`.
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
