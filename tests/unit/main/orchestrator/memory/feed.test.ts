// See docs/internals/semantics.md, section 8, and docs/internals/faults.md, S16.
import { describe, expect, test } from 'vitest';
import { createFeed, type FeedReader } from '../../../../../main/orchestrator/memory/feed.ts';
import type { Log } from '../../../../../main/orchestrator/ports/index.ts';
import { makeEvent } from '../builders.ts';

/** Creates a feed over stored events with the numbers `first` to `last`. */
function makeFeed({ first = 1, last = 0 } = {}) {
  const storedEvents = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
    makeEvent(first + index),
  );
  const logged: unknown[] = [];
  const log: Log = { info: () => {}, warn: () => {}, error: (event, fields) => logged.push([event, fields]) };
  const feed = createFeed(
    {
      eventRange: () => ({ first: storedEvents[0]?.seq ?? 0, last: storedEvents.at(-1)?.seq ?? 0 }),
      eventsAfter: (seq, limit) => storedEvents.filter(event => event.seq > seq).slice(0, limit),
    },
    log,
  );
  return {
    ...feed,
    logged,
    // Deletes the stored events up to number `seq`.
    deleteUpTo(seq: number): void {
      while ((storedEvents[0]?.seq ?? Infinity) <= seq) storedEvents.shift();
    },
    // Stores an event and then publishes it, like a transaction.
    addEvent(): void {
      const event = makeEvent((storedEvents.at(-1)?.seq ?? 0) + 1);
      storedEvents.push(event);
      feed.publish(event);
    },
  };
}

function makeReader(): FeedReader & { readonly received: unknown[] } {
  const received: unknown[] = [];
  return { received, event: ({ seq }) => received.push(seq), reset: seq => received.push(`reset ${seq}`) };
}

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('subscribing to the feed', () => {
  test('delivers only new events to a reader that names no last event', () => {
    const feed = makeFeed({ last: 5 });
    const reader = makeReader();
    feed.subscribe(null, reader);
    feed.addEvent();
    expect(reader.received).toEqual([6]);
  });

  // The replay reads pages of 1,000 events. The cases read a part of a page, one page, slightly more, two pages, and nothing.
  test.each([
    [0, 3],
    [0, 999],
    [0, 1_000],
    [0, 1_001],
    [500, 2_500],
    [7, 7],
  ])(
    'replays the events after %d of %d, and then delivers new events, without a gap or a repeat',
    (after, last) => {
      const feed = makeFeed({ last });
      const reader = makeReader();
      feed.subscribe(after, reader);
      feed.addEvent();
      feed.addEvent();
      expect(reader.received).toEqual(range(after + 1, last + 2));
    },
  );

  test('delivers the first event of an empty log', () => {
    const feed = makeFeed();
    const reader = makeReader();
    feed.subscribe(0, reader);
    feed.addEvent();
    expect(reader.received).toEqual([1]);
  });

  test.each([
    ['before the oldest kept event', 48, ['reset 60', 61]],
    ['right at the oldest kept event', 49, [...range(50, 60), 61]],
    ['at the newest event', 60, [61]],
    ['in the future', 61, ['reset 60', 61]],
    ['far in the future', 1e99, ['reset 60', 61]],
    ['below zero', -1, ['reset 60', 61]],
  ])(
    'delivers the missed events or a reset to a reader whose last event is %s (number %d)',
    (_case, after, expected) => {
      const feed = makeFeed({ first: 50, last: 60 });
      const reader = makeReader();
      feed.subscribe(after, reader);
      feed.addEvent();
      expect(reader.received).toEqual(expected);
    },
  );

  test('resets a reader whose last event comes from an earlier database', () => {
    const reader = makeReader();
    makeFeed().subscribe(5, reader);
    expect(reader.received).toEqual(['reset 0']);
  });

  test('delivers nothing to an unsubscribed reader, and keeps the other readers', () => {
    const feed = makeFeed();
    const [leaving, staying] = [makeReader(), makeReader()];
    const end = feed.subscribe(0, leaving);
    feed.subscribe(0, staying);
    feed.addEvent();
    end();
    end();
    feed.addEvent();
    expect(leaving.received).toEqual([1]);
    expect(staying.received).toEqual([1, 2]);
  });
});

describe('readers with a full buffer', () => {
  // The buffer has space for three events.
  function makeSlowReader() {
    const reader = makeReader();
    const waiting: (() => void)[] = [];
    let space = 3;
    return {
      received: reader.received,
      reset: reader.reset,
      event(event: Parameters<FeedReader['event']>[0]): void {
        reader.event(event);
        space -= 1;
      },
      pace: { isFull: () => space <= 0, onRoom: (run: () => void) => void waiting.push(run) },
      // Empties the buffer. Returns the number of callbacks that waited for space.
      drain(): number {
        space = 3;
        const due = waiting.splice(0);
        for (const run of due) run();
        return due.length;
      },
    };
  }

  test('delivers old events in batches to a slow reader, then new events, without a gap or a repeat', () => {
    const feed = makeFeed({ last: 5 });
    const reader = makeSlowReader();
    feed.subscribe(0, reader);
    feed.addEvent();
    expect(reader.received).toEqual(range(1, 3));
    expect(reader.drain()).toBe(1);
    expect(reader.received).toEqual(range(1, 6));
    feed.addEvent();
    expect(reader.received).toEqual(range(1, 6));
    expect(reader.drain()).toBe(1);
    // The reader is up to date now, so events are pushed immediately. The transport must disconnect a reader that is
    // too slow.
    for (let n = 0; n < 5; n += 1) feed.addEvent();
    expect(reader.received).toEqual(range(1, 12));
    expect(reader.drain()).toBe(0);
  });

  test('resets a slow reader when its remaining events were deleted', () => {
    const feed = makeFeed({ last: 10 });
    const reader = makeSlowReader();
    feed.subscribe(0, reader);
    feed.deleteUpTo(8);
    reader.drain();
    expect(reader.received).toEqual([1, 2, 3, 'reset 10']);
  });

  test('delivers nothing more after a slow reader unsubscribes', () => {
    const feed = makeFeed({ last: 10 });
    const reader = makeSlowReader();
    const end = feed.subscribe(0, reader);
    end();
    reader.drain();
    feed.addEvent();
    expect(reader.received).toEqual([1, 2, 3]);
  });

  test('logs and removes a slow reader that fails', () => {
    const feed = makeFeed({ last: 10 });
    const reader = makeSlowReader();
    const failure = new Error('socket closed');
    let isBroken = false;
    feed.subscribe(0, {
      ...reader,
      event(event) {
        if (isBroken) throw failure;
        reader.event(event);
      },
    });
    isBroken = true;
    reader.drain();
    isBroken = false;
    feed.addEvent();
    expect(reader.received).toEqual([1, 2, 3]);
    expect(feed.logged).toEqual([['feed.reader_failed', { cause: failure }]]);
  });
});

describe('readers that throw', () => {
  const failure = new Error('socket closed');
  const makeBrokenReader = (received: unknown[]): FeedReader => ({
    event: ({ seq }) => {
      received.push(seq);
      throw failure;
    },
    reset: () => {},
  });

  test('logs and removes a reader that throws, and keeps the other readers', () => {
    const feed = makeFeed();
    const received: unknown[] = [];
    const healthy = makeReader();
    feed.subscribe(null, makeBrokenReader(received));
    feed.subscribe(null, healthy);
    feed.addEvent();
    feed.addEvent();
    expect(received).toEqual([1]);
    expect(healthy.received).toEqual([1, 2]);
    expect(feed.logged).toEqual([['feed.reader_failed', { cause: failure }]]);
  });

  test('does not subscribe a reader that throws during the replay', () => {
    const feed = makeFeed({ last: 3 });
    const received: unknown[] = [];
    expect(() => feed.subscribe(0, makeBrokenReader(received))).toThrow(failure);
    feed.addEvent();
    expect(received).toEqual([1]);
  });
});
