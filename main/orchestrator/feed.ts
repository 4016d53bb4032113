import type { StoredEvent } from './model.ts';
import type { Log, Read } from './ports.ts';

/** Takes events in the order of their numbers; `reset` when some before `seq` are not to be had any more. */
export interface FeedReader {
  event(event: StoredEvent): void;
  reset(seq: number): void;
}

export interface Feed {
  publish(event: StoredEvent): void;
  /**
   * Begins after event `after` (null: with what comes next), without gap or repeat, whether an event is still in the
   * log or just being published. The answer ends it.
   */
  subscribe(after: number | null, reader: FeedReader): () => void;
}

const pageSize = 1_000;

export function createFeed(read: Pick<Read, 'eventsAfter' | 'eventRange'>, log: Log): Feed {
  const readers = new Set<FeedReader>();
  const replay = (after: number, reader: FeedReader): void => {
    const { first, last } = read.eventRange();
    if (after > last || after < first - 1) {
      reader.reset(last);
      return;
    }
    let seq = after;
    for (;;) {
      const page = read.eventsAfter(seq, pageSize);
      for (const event of page) reader.event(event);
      seq = page.at(-1)?.seq ?? seq;
      if (page.length < pageSize) return;
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
      // One turn of the event loop: nothing can be committed between the replay and the entry into the list.
      if (after !== null) replay(after, reader);
      readers.add(reader);
      return () => readers.delete(reader);
    },
  };
}
