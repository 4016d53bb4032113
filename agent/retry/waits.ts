import { type Decisions, decide, type Failure } from './decisions.ts';
import type { Wait } from './retry.ts';

const usual: Wait = { baseMs: 200, firstMs: 1_000, maxMs: 30_000 };

/** The pauses between retries, for each kind of call and each decision that leads to another call. */
export const waits = {
  register: { retry: usual, seldom: { baseMs: 5_000, firstMs: 15_000, maxMs: 60_000 } },
  join: { retry: usual },
  report: { retry: { baseMs: 100, firstMs: 500, maxMs: 15_000 } },
  log: { retry: { baseMs: 200, firstMs: 500, maxMs: 30_000 } },
  upload: { retry: usual },
  list: { retry: usual },
  download: { retry: { baseMs: 200, firstMs: 500, maxMs: 30_000 } },
  /** The guard writes how a run ended. It retries every error, because only the guard knows the exit. */
  exitRecord: { retry: { baseMs: 1_000, firstMs: 0, maxMs: 0 } },
} as const;

/** The pauses of loops that repeat more than one call. A failure makes the next turn wait longer. */
export const loopWaits = {
  heartbeat: { baseMs: 0, firstMs: 1_000, maxMs: 8_000 },
  /** Between the end of a command stream and the next registration. */
  session: { baseMs: 0, firstMs: 1_000, maxMs: 30_000 },
  /** Until a token file has a new token. */
  tokenFile: { baseMs: 0, firstMs: 1_000, maxMs: 15_000 },
  metrics: { baseMs: 500, firstMs: 1_000, maxMs: 30_000 },
  /** After the orchestrator's log has ended at another offset than expected. */
  logOffset: { baseMs: 0, firstMs: 500, maxMs: 30_000 },
  /** After a completed job, while the server has no room, or has not accepted the final report yet. */
  outputs: { baseMs: 200, firstMs: 2_000, maxMs: 300_000 },
} as const;

/** The part of a retry policy that the tables define for a kind of call. */
export const policyOf = <K extends keyof typeof waits & keyof Decisions>(call: K) => ({
  waits: waits[call],
  decide: (failure: Failure): Decisions[K] => decide(call, failure),
});
