import { setTimeout as pause } from 'node:timers/promises';
import type { UiEvent } from '../../protocol/events.ts';
import type { Screen } from './invocation.ts';
import { live } from './live.ts';
import { printEvent } from './output.ts';
import type { Remote } from './remote.ts';

/** What a watch shows. */
export interface Watched {
  /** The lines of a table as it is now, for a screen with room for so many. */
  readonly table: (size: Screen) => Promise<readonly string[]>;
  readonly kinds: readonly UiEvent['kind'][];
  /** What to tell people of an event; null when it is not worth a line. Programs get all of those kinds. */
  readonly line: (event: UiEvent) => string | null;
  /** The number of the last event that happened before the watch. */
  readonly after: number;
}

/** On a screen a table that is drawn anew when something happens; elsewhere a line an event. Goes on until it is ended. */
export async function watch(remote: Remote, watched: Watched): Promise<void> {
  const { terminal, flags } = remote;
  const isForPeople = flags['json'] !== true && flags['output'] === undefined;
  if (isForPeople && terminal.outScreen() !== null) return watchTable(remote, watched);
  terminal.err(`Watching ${remote.connection().url}; Ctrl-C ends it\n`);
  return watchLines(remote, watched, isForPeople);
}

function watchLines(remote: Remote, { kinds, line, after }: Watched, isForPeople: boolean): Promise<never> {
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

/** How often at most, and at least: ages of last contacts grow without an event. */
const shortestMs = 250;
const longestMs = 5_000;

function watchTable(remote: Remote, { table, after }: Watched): Promise<never> {
  const { terminal } = remote;
  return live<never>(
    remote,
    async events => {
      // A new one each time: what was said of the loss stands between the two.
      const canvas = createCanvas(terminal.out, terminal.outScreen);
      const changes = watchChanges(events);
      do {
        const size = terminal.outScreen();
        if (size !== null) canvas.draw(await table(size));
        await Promise.all([pause(shortestMs), changes.next(longestMs)]);
      } while (!changes.isOver());
      await changes.failure();
      return null;
    },
    after,
  );
}

/** Reads events for nothing but that they came. */
function watchChanges(events: AsyncIterable<UiEvent>) {
  let changed = Promise.withResolvers<void>();
  let over = false;
  const reading = (async () => {
    for await (const _ of events) changed.resolve();
  })().finally(() => {
    over = true;
    changed.resolve();
  });
  // Looked at once the loop sees that it is over.
  reading.catch(() => undefined);
  return {
    isOver: () => over,
    failure: () => reading,
    /** Resolves when something has happened since it last did, or after so long. */
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

/** Draws over what it drew before. */
function createCanvas(write: (text: string) => void, size: () => Screen | null) {
  let drawn = 0;
  return {
    draw(lines: readonly string[]) {
      const room = Math.max(1, (size()?.rows ?? 24) - 2);
      const cut =
        lines.length > room ? [...lines.slice(0, room), `... and ${lines.length - room} more`] : lines;
      const back = drawn === 0 ? '' : `\r\u001b[${drawn}A`;
      write(`${back}\u001b[J${cut.map(line => `${line}\n`).join('')}`);
      drawn = cut.length;
    },
  };
}
