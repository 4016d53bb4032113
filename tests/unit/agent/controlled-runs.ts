import type { Contact, ExitRecord, Order } from '../../../agent/guard/guard-files.ts';
import type { Run } from '../../../agent/attempt/run.ts';
import type { RunListeners } from '../../../agent/attempt/run-follow.ts';

/** A running trainer whose end the test decides. */
export interface ControlledRun {
  readonly listeners: RunListeners;
  /** The grace period of each stop, in ms. */
  readonly stops: readonly number[];
  readonly orders: readonly Order[];
  readonly contacts: readonly Contact[];
  /** True when the agent has stopped following the run. */
  readonly hasAgentLeft: () => boolean;
  readonly end: (
    code: number | null,
    signal?: string | null,
    tail?: string,
    overrides?: Partial<ExitRecord>,
  ) => void;
  /** Ends the guard without an exit record. */
  readonly endWithoutRecord: () => void;
}

/** Creates a run for the agent. The test decides when the run ends. `onStop` is called on each stop. */
export function controlRun(
  listeners: RunListeners,
  onStop: (graceMs: number) => void = () => {},
): ControlledRun & { readonly run: Run } {
  const ended = Promise.withResolvers<ExitRecord | null>();
  const stops: number[] = [];
  const orders: Order[] = [];
  const contacts: Contact[] = [];
  let hasAgentLeft = false;
  const run: Run = {
    pid: 4711,
    finished: ended.promise,
    stop(order, graceMs) {
      stops.push(graceMs);
      orders.push(order);
      onStop(graceMs);
    },
    contact: contact => void contacts.push(contact),
    leave() {
      hasAgentLeft = true;
    },
  };
  return {
    listeners,
    stops,
    orders,
    contacts,
    hasAgentLeft: () => hasAgentLeft,
    end: (code, signal = null, tail = '', overrides = {}) =>
      ended.resolve({ code, signal, tail, stopped: null, startError: null, ...overrides }),
    endWithoutRecord: () => ended.resolve(null),
    run,
  };
}

/** Resolves when all pending callbacks have run. */
export const flushCallbacks = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** Returns the last element; throws for an empty list. */
export function newest<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new Error('the list is empty');
  return last;
}

/** Ends a run and waits for the effects on the agent. */
export function endRun({ end }: ControlledRun, ...args: Parameters<ControlledRun['end']>): Promise<void> {
  end(...args);
  return flushCallbacks();
}
