import type { AuditFact } from '../events.ts';
import type { Clock, Tx } from '../ports/index.ts';

/** Length of a window in ms. A window counts the rows of one type from one source. */
const windowMs = 600_000;
/** Maximum number of rows per window. They are enough to find out why a worker reconnects constantly. */
const maxRows = 30;
/** Maximum number of windows for single sources. Beyond that, new sources share one window per type. */
const maxWindows = 10_000;

interface Window {
  readonly fact: AuditFact;
  readonly source: string;
  written: number;
  repeats: number;
}

/** Open windows by type and source. */
export type AuditRepeats = Map<string, Window>;

export const createAuditRepeats = (): AuditRepeats => new Map();

interface RepeatsDeps {
  readonly repeats: AuditRepeats;
  readonly clock: Pick<Clock, 'wall'>;
  readonly after: (ms: number, act: () => void) => void;
  readonly enqueue: (command: (tx: Tx) => void) => void;
}

/**
 * Appends an audit row that a client can cause repeatedly. Each source gets `max` rows of a type per window. Further rows
 * are only counted, and one `audit.repeated` row reports their number. So a client cannot make the trail grow without limit.
 */
export function appendBounded(
  deps: RepeatsDeps,
  tx: Tx,
  fact: AuditFact,
  source: string,
  max = maxRows,
): void {
  const window = openWindow(deps, fact, source);
  if (window.written < max) {
    window.written += 1;
    tx.afterRollback(() => void (window.written -= 1));
    tx.appendAudit(fact);
  } else {
    window.repeats += 1;
    tx.afterRollback(() => void (window.repeats -= 1));
  }
}

function openWindow(deps: RepeatsDeps, fact: AuditFact, source: string): Window {
  const countedAs = deps.repeats.size < maxWindows ? source : 'others';
  const key = `${fact.type} ${countedAs}`;
  // A source that already has a window keeps it, even at the limit.
  const open = deps.repeats.get(`${fact.type} ${source}`) ?? deps.repeats.get(key);
  if (open !== undefined) return open;
  const window = { fact, source: countedAs, written: 0, repeats: 0 };
  deps.repeats.set(key, window);
  deps.after(windowMs, () => closeWindow(deps, key));
  return window;
}

function closeWindow(deps: RepeatsDeps, key: string): void {
  const window = deps.repeats.get(key);
  deps.repeats.delete(key);
  if (window === undefined || window.repeats === 0) return;
  const { fact, source, repeats } = window;
  deps.enqueue(tx =>
    tx.appendAudit({
      at: deps.clock.wall(),
      type: 'audit.repeated',
      actor: fact.actor,
      target: { type: 'audit', id: 'audit' },
      details: { event_type: fact.type, source, count: repeats, within_s: windowMs / 1_000 },
    }),
  );
}

/** Closes all windows and writes their counts. Called when the process stops. */
export function closeWindows(deps: RepeatsDeps): void {
  for (const key of deps.repeats.keys()) closeWindow(deps, key);
}
