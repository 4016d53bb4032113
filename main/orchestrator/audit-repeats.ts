import type { Core } from './core.ts';
import type { AuditFact } from './model.ts';
import type { Tx } from './ports.ts';

/** Rows of one kind from one source are counted within this time. */
const windowMs = 600_000;
/** Enough for a worker that reconnects all the time, and for whoever looks into it. */
const maxRows = 30;
/** Sources beyond this number share one window. */
const maxWindows = 10_000;

interface Window {
  readonly fact: AuditFact;
  readonly source: string;
  written: number;
  repeats: number;
}

/** The windows that are open, by type and source. */
export type AuditRepeats = Map<string, Window>;

export const createAuditRepeats = (): AuditRepeats => new Map();

/**
 * Appends a row that a caller can bring about again and again. Each source gets 30 rows of a type within ten minutes; further ones are
 * counted, and one row `audit.repeated` says how many there were. So no token makes the trail grow without bound.
 */
export function appendBounded(core: Core, tx: Tx, fact: AuditFact, source: string, max = maxRows): void {
  const window = openWindow(core, fact, source);
  const what = window.written < max ? 'written' : 'repeats';
  window[what] += 1;
  tx.afterRollback(() => {
    window[what] -= 1;
  });
  if (what === 'written') tx.appendAudit(fact);
}

function openWindow(core: Core, fact: AuditFact, wanted: string): Window {
  const source = core.repeats.size < maxWindows ? wanted : 'others';
  const key = `${fact.type} ${source}`;
  const open = core.repeats.get(`${fact.type} ${wanted}`) ?? core.repeats.get(key);
  if (open !== undefined) return open;
  const window = { fact, source, written: 0, repeats: 0 };
  core.repeats.set(key, window);
  core.after(windowMs, () => closeWindow(core, key));
  return window;
}

function closeWindow(core: Core, key: string): void {
  const window = core.repeats.get(key);
  core.repeats.delete(key);
  if (window === undefined || window.repeats === 0) return;
  const { fact, source, repeats } = window;
  core.enqueue(tx =>
    tx.appendAudit({
      at: core.clock.wall(),
      type: 'audit.repeated',
      actor: fact.actor,
      target: { type: 'audit', id: 'audit' },
      details: { event_type: fact.type, source, count: repeats, within_s: windowMs / 1_000 },
    }),
  );
}

/** At the end of the process: what was counted until then is written down. */
export function closeWindows(core: Core): void {
  for (const key of [...core.repeats.keys()]) closeWindow(core, key);
}
