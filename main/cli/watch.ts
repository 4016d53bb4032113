import { setTimeout as pause } from 'node:timers/promises';
import type { UiEvent } from '../../protocol/events.ts';
import type { Screen } from './invocation.ts';
import { live } from './live.ts';
import { printEvent } from './output.ts';
import type { Remote } from './remote.ts';

/** The table and the events that a watch shows. */
export interface WatchOptions {
  /** Returns the current table as lines, for a terminal of this size. */
  readonly table: (size: Screen) => Promise<readonly string[]>;
  readonly kinds: readonly UiEvent['kind'][];
  /** Returns a line for people, or null to skip the event. With --json or --output, no event is skipped. */
  readonly line: (event: UiEvent) => string | null;
  /** The number of the last event before the watch. */
  readonly after: number;
}

/** On a terminal, redraws a table after each change; elsewhere, prints one line per event. Runs until interrupted. */
export async function watch(remote: Remote, options: WatchOptions): Promise<void> {
  const { terminal, flags } = remote;
  const isForPeople = flags['json'] !== true && flags['output'] === undefined;
  if (isForPeople && terminal.outScreen() !== null) return redrawTable(remote, options);
  terminal.err(`Watching ${remote.connection().url}. Press Ctrl-C to stop\n`);
  return printChanges(remote, options, isForPeople);
}

function printChanges(
  remote: Remote,
  { kinds, line, after }: WatchOptions,
  isForPeople: boolean,
): Promise<never> {
  return live<never>(
    remote,
    async events => {
      for await (const event of events) {
        if (event.kind === 'reset') remote.terminal.err('Some events were missed\n');
        if (!kinds.includes(event.kind)) continue;
        const text = line(event);
        if (text !== null || !isForPeople) printEvent(remote, event, text ?? '');
      }
      return null;
    },
    after,
  );
}

/**
 * Minimum and maximum time between two redraws. The maximum keeps ages in the table current, because events do not report that
 * time has passed.
 */
const minMs = 250;
const maxMs = 5_000;

function redrawTable(remote: Remote, { table, after }: WatchOptions): Promise<never> {
  const { terminal } = remote;
  return live<never>(
    remote,
    async events => {
      // Each connection gets a new canvas, so that the message about the lost connection is not overwritten.
      const canvas = createCanvas(terminal.out, terminal.outScreen);
      const changes = detectChanges(events);
      do {
        const size = terminal.outScreen();
        if (size !== null) canvas.draw(await table(size));
        await Promise.all([pause(minMs), changes.next(maxMs)]);
      } while (!changes.isOver());
      await changes.failure();
      return null;
    },
    after,
  );
}

/** Reads the events in the background, and reports only that something has changed. */
function detectChanges(events: AsyncIterable<UiEvent>) {
  let changed = Promise.withResolvers<void>();
  let over = false;
  const reading = (async () => {
    for await (const _ of events) changed.resolve();
  })().finally(() => {
    over = true;
    changed.resolve();
  });
  // Prevents an unhandled rejection. The caller gets the error from `failure`.
  reading.catch(() => undefined);
  return {
    isOver: () => over,
    failure: () => reading,
    /** Resolves when something has changed since the last call, at the latest after `withinMs`. */
    async next(withinMs: number): Promise<void> {
      const limit = new AbortController();
      await Promise.race([
        changed.promise,
        pause(withinMs, undefined, { signal: limit.signal }).catch(() => undefined),
      ]);
      limit.abort();
      if (!over) changed = Promise.withResolvers();
    },
  };
}

/** Creates a canvas on a terminal. Each draw overwrites the previous lines. */
function createCanvas(write: (text: string) => void, size: () => Screen | null) {
  let drawn = 0;
  return {
    draw(lines: readonly string[]) {
      const maxLines = Math.max(1, (size()?.rows ?? 24) - 2);
      const shown =
        lines.length > maxLines
          ? [...lines.slice(0, maxLines), `... and ${lines.length - maxLines} more`]
          : lines;
      const toTop = drawn === 0 ? '' : `\r\u001b[${drawn}A`;
      write(`${toTop}\u001b[J${shown.map(line => `${line}\n`).join('')}`);
      drawn = shown.length;
    },
  };
}
