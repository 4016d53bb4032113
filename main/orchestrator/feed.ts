import type { StoredEvent } from './model.ts';
import type { Log, Read } from './ports.ts';

/** How fast a reader takes what has happened before it came. */
export interface Pace {
  /** It has enough for now. */
  isFull(): boolean;
  /** Runs once, when it is full no more. */
  onRoom(run: () => void): void;
}

/** Takes events in the order of their numbers; `reset` when some before `seq` are not to be had any more. */
export interface FeedReader {
  event(event: StoredEvent): void;
  reset(seq: number): void;
  /** Left out by one that takes everything at once. */
  readonly pace?: Pace | undefined;
}

export interface Feed {
  publish(event: StoredEvent): void;
  /**
   * Begins after event `after` (null: with what comes next), without gap or repeat, whether an event is still in the
   * log or just being published. The past comes as fast as the reader takes it. The answer ends it.
   */
  subscribe(after: number | null, reader: FeedReader): () => void;
}

const pageSize = 1_000;

export function createFeed(read: Pick<Read, 'eventsAfter' | 'eventRange'>, log: Log): Feed {
  /** Those who have taken the past. */
  const readers = new Set<FeedReader>();

  /** Until it has caught up, and is told of what comes, or is full. */
  const readOn = (after: number, reader: FeedReader, isOver: () => boolean): void => {
    const { first, last } = read.eventRange();
    if (after > last || after < first - 1) {
      reader.reset(last);
      readers.add(reader);
      return;
    }
    // One turn of the event loop: nothing can be committed between the last page and the entry into the list.
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
