/** The waits of a v1 agent, and the single event loop on which the agent runs. Tests control when waits end. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Every wait of the agent has a reason:
 *
 * - `poll`: 100 ms between two checks of its trainer, the only time during which the loop is not blocked (item 10);
 * - `heartbeat`: between two heartbeats;
 * - `reconnect`: 10 s after an error (item 9);
 * - `grace`: 30 s from SIGTERM to SIGKILL.
 */
export type V1WaitReason = 'poll' | 'heartbeat' | 'reconnect' | 'grace';

/** Resolves when the time has passed. Can reject when `signal` aborts, because the caller then ignores the result. */
export type V1Wait = (ms: number, reason: V1WaitReason, signal: AbortSignal) => Promise<void>;

/** Waits in real time. An infinite wait ends only through its signal. */
export const waitForReal: V1Wait = (ms, _reason, signal) =>
  Number.isFinite(ms) ? delay(ms, undefined, { signal, ref: false }) : new Promise(() => undefined);

export interface V1Waits {
  readonly wait: V1Wait;
  /**
   * Ends the oldest current wait with this reason or, if there is none, the next wait that starts. Resolves with the requested
   * length of the wait in ms.
   */
  release(reason: V1WaitReason): Promise<number>;
  /** Returns the number of current waits with this reason. */
  held(reason: V1WaitReason): number;
}

interface Held {
  readonly ms: number;
  readonly reason: V1WaitReason;
  readonly end: () => void;
}

/**
 * Creates waits that a test controls. A wait ends at `release`. A wait whose reason is in `instant` ends at the next turn of the
 * event loop. Do not make `heartbeat` instant, because heartbeats would follow each other without a pause.
 */
export function createV1Waits({
  instant = [],
}: {
  readonly instant?: readonly V1WaitReason[];
} = {}): V1Waits {
  const held: Held[] = [];
  const releases: { readonly reason: V1WaitReason; readonly onHeld: (wait: Held) => void }[] = [];

  return {
    wait: (ms, reason, signal) =>
      new Promise(resolve => {
        if (signal.aborted || instant.includes(reason)) return void setImmediate(resolve);
        const wait: Held = { ms, reason, end: resolve };
        const releaseIndex = releases.findIndex(candidate => candidate.reason === reason);
        if (releaseIndex >= 0) return releases.splice(releaseIndex, 1)[0]?.onHeld(wait);
        held.push(wait);
        signal.addEventListener('abort', () => {
          if (held.includes(wait)) held.splice(held.indexOf(wait), 1);
          resolve();
        });
      }),
    release: reason =>
      new Promise(resolve => {
        const onHeld = (wait: Held): void => {
          wait.end();
          resolve(wait.ms);
        };
        const index = held.findIndex(wait => wait.reason === reason);
        const [wait] = index >= 0 ? held.splice(index, 1) : [];
        if (wait === undefined) releases.push({ reason, onHeld });
        else onHeld(wait);
      }),
    held: reason => held.filter(wait => wait.reason === reason).length,
  };
}

export interface V1Loop {
  readonly isBlocked: boolean;
  /** Resolves when the loop is free. Never resolves after `halt`. */
  turn(): Promise<void>;
  /** Awaits external work as a coroutine does: returns only when the loop is not blocked. */
  io<T>(work: Promise<T>): Promise<T>;
  /** Awaits `work`, and blocks the loop during this time, so that no other coroutine of this agent continues. */
  blockOn<T>(work: Promise<T>): Promise<T>;
  /** Ends the process: no coroutine ever continues. */
  halt(): void;
}

/**
 * Simulates the single event loop of SimpleTuner's published agent. The agent uses blocking calls to read its trainer's output
 * and to wait for a stopped trainer. These calls delay heartbeats, the stream, answers and even signals (item 10).
 */
export function createV1Loop(): V1Loop {
  let blockingCalls = 0;
  let isHalted = false;
  let waiters: (() => void)[] = [];

  async function turn(): Promise<void> {
    while (blockingCalls > 0 && !isHalted) await new Promise<void>(resolve => waiters.push(resolve));
    if (isHalted) await new Promise<never>(() => undefined);
  }

  function unblock(): void {
    blockingCalls -= 1;
    if (blockingCalls > 0) return;
    const resumed = waiters;
    waiters = [];
    for (const wake of resumed) wake();
  }

  return {
    get isBlocked() {
      return blockingCalls > 0;
    },
    turn,
    async io(work) {
      try {
        return await work;
      } finally {
        await turn();
      }
    },
    async blockOn(work) {
      blockingCalls += 1;
      try {
        return await work;
      } finally {
        unblock();
        if (isHalted) await turn();
      }
    },
    halt() {
      isHalted = true;
    },
  };
}
