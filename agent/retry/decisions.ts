import type { CallFailure } from '../../protocol/client.ts';
import type { Wait } from './retry.ts';

/** The failure of a call. `disk`: a file of this machine could not be read or written. */
export type Failure = CallFailure | { readonly kind: 'disk'; readonly cause: unknown };

/** The possible decisions after a failure, for each kind of call. */
export interface Decisions {
  /** `seldom`: retry rarely, because another machine uses the token. `token`: read a new token, then retry. */
  readonly register: 'retry' | 'seldom' | 'token' | 'stop';
  /** `rejected`: the join token is invalid. */
  readonly join: 'retry' | 'rejected' | 'stop';
  /**
   * Applies to the claim of a job and to the report of its end. Progress reports are not retried. `soon`: retry with
   * pauses that stay short.
   */
  readonly report: 'retry' | 'soon' | 'stop';
  /** `skip`: the server rejects these points, but may accept the next ones. */
  readonly metrics: 'retry' | 'skip' | 'stop';
  /** `smaller`: retry with a smaller chunk. `older`: the server's version does not support logs. */
  readonly log: 'retry' | 'smaller' | 'older' | 'stop';
  /**
   * `over`: the attempt may not upload now. `closed`: the attempt may never upload again. `no_room`: there is no room for
   * this file now, but maybe for a smaller one. `changed`: the file differs from the announced one.
   */
  readonly upload: 'retry' | 'over' | 'closed' | 'no_room' | 'changed' | 'stop';
  /** Applies to the list of an attempt's files, and to the report of files that are not uploaded. */
  readonly list: 'retry' | 'over' | 'closed' | 'stop';
  /** Applies to downloads of checkpoints and datasets. */
  readonly download: 'retry' | 'stop';
}

type Cells = readonly [
  register: Decisions['register'],
  join: Decisions['join'],
  report: Decisions['report'],
  metrics: Decisions['metrics'],
  log: Decisions['log'],
  upload: Decisions['upload'],
  list: Decisions['list'],
  download: Decisions['download'],
];

const row = (...[register, join, report, metrics, log, upload, list, download]: Cells): Decisions => ({
  register,
  join,
  report,
  metrics,
  log,
  upload,
  list,
  download,
});

/**
 * The decision for each failure and kind of call. A key is a status, or a status with a problem code. `busy` stands for
 * 408, 429 and any status from 500 on. `proxy` stands for error responses that are not from the orchestrator. The most
 * specific key applies.
 *
 * Columns differ on purpose:
 * - Only a refusal by the orchestrator itself ends a registration, a join, a log or an upload. A proxy may refuse for a
 *   temporary reason. Any refusal ends a report or metrics, because the server does not depend on them.
 * - A 401 to a worker token may follow a rotation. Calls are repeated until the token file has the new token. A 401 to an
 *   upload token means that its attempt is over.
 * - A full disk (507) or a size limit (413) stops the upload of one file. Calls without a file wait for free space.
 * - A 409 is a conflict with another machine (register), an attempt that was taken over (report, metrics, log), or a
 *   wrong offset (upload), which the next call corrects.
 *
 * @internal
 */
// biome-ignore format: a table
export const decisionTable = {
  //                                register  join        report   metrics  log        upload     list      download
  'disk':                       row('stop',   'stop',     'stop',  'stop',  'stop',    'stop',    'stop',   'stop'),
  'unreachable':                row('retry',  'retry',    'retry', 'retry', 'retry',   'retry',   'retry',  'retry'),
  'proxy 401':                  row('token',  'retry',    'retry', 'retry', 'retry',   'over',    'over',   'stop'),
  'proxy 405':                  row('retry',  'retry',    'stop',  'stop',  'older',   'retry',   'retry',  'retry'),
  'proxy 409':                  row('retry',  'retry',    'stop',  'stop',  'retry',   'retry',   'retry',  'stop'),
  'proxy 413':                  row('retry',  'retry',    'stop',  'stop',  'smaller', 'no_room', 'retry',  'stop'),
  'proxy 507':                  row('retry',  'retry',    'retry', 'retry', 'retry',   'no_room', 'retry',  'stop'),
  'proxy busy':                 row('retry',  'retry',    'retry', 'retry', 'retry',   'retry',   'retry',  'retry'),
  'proxy other':                row('retry',  'retry',    'stop',  'stop',  'retry',   'retry',   'retry',  'retry'),
  '400':                        row('stop',   'stop',     'stop',  'skip',  'stop',    'stop',    'stop',   'stop'),
  '400 checksum_mismatch':      row('stop',   'stop',     'stop',  'skip',  'stop',    'changed', 'stop',   'stop'),
  '401':                        row('token',  'rejected', 'retry', 'retry', 'retry',   'over',    'over',   'stop'),
  '401 upload_token_rotated':   row('token',  'rejected', 'retry', 'retry', 'retry',   'retry',   'retry',  'retry'),
  '401 uploads_closed':         row('token',  'rejected', 'retry', 'retry', 'retry',   'closed',  'closed', 'stop'),
  '403':                        row('stop',   'stop',     'stop',  'stop',  'stop',    'stop',    'stop',   'stop'),
  '404 route_not_found':        row('retry',  'stop',     'stop',  'stop',  'older',   'stop',    'stop',   'stop'),
  '405':                        row('retry',  'stop',     'stop',  'stop',  'older',   'stop',    'stop',   'stop'),
  '409':                        row('seldom', 'stop',     'stop',  'stop',  'stop',    'retry',   'retry',  'stop'),
  '409 duplicate_registration': row('seldom', 'stop',     'stop',  'stop',  'retry',   'retry',   'retry',  'stop'),
  '409 not_registered':         row('seldom', 'stop',     'stop',  'stop',  'retry',   'retry',   'retry',  'stop'),
  '409 restore_under_way':      row('seldom', 'stop',     'stop',  'stop',  'retry',   'retry',   'retry',  'stop'),
  '413':                        row('retry',  'stop',     'stop',  'stop',  'smaller', 'no_room', 'retry',  'stop'),
  '507':                        row('retry',  'retry',    'soon',  'retry', 'retry',   'no_room', 'retry',  'stop'),
  'busy':                       row('retry',  'retry',    'retry', 'retry', 'retry',   'retry',   'retry',  'retry'),
  'other':                      row('retry',  'stop',     'stop',  'stop',  'stop',    'stop',    'stop',   'stop'),
};

const rows: ReadonlyMap<string, Decisions> = new Map(Object.entries(decisionTable));

/** Returns the keys that match a failure, the most specific first. */
function keysOf(failure: Failure): readonly string[] {
  if (failure.kind === 'unreachable' || failure.kind === 'disk') return [failure.kind];
  const { kind, status } = failure;
  const isBusy = status === 408 || status === 429 || status >= 500;
  const general = isBusy ? 'busy' : 'other';
  return kind === 'unexpected'
    ? [`proxy ${status}`, `proxy ${general}`]
    : [`${status} ${failure.problem.code}`, String(status), general];
}

/** Returns the decision after a call of this kind has failed. */
export function decide<K extends keyof Decisions>(call: K, failure: Failure): Decisions[K] {
  const key = keysOf(failure).find(candidate => rows.has(candidate)) ?? 'other';
  return (rows.get(key) ?? decisionTable.other)[call];
}

const defaultWait: Wait = { baseMs: 200, firstMs: 1_000, maxMs: 30_000 };
/**
 * Shorter than the default pauses, because an unregistered worker gets no job, and most outages are restarts of a few
 * seconds. After a restart, the last of 1,000 workers registers within 4 s. With the default pauses, this takes 7 to 14 s
 * (`npm run bench -- --only restart`).
 */
const registration: Wait = { baseMs: 200, firstMs: 250, maxMs: 10_000 };

/** The pauses before a retry, for each kind of call and each decision that leads to a retry. */
export const waits = {
  register: { retry: registration, seldom: { baseMs: 5_000, firstMs: 15_000, maxMs: 60_000 } },
  join: { retry: defaultWait },
  /** The maximum is short, because a worker gets no job until the end of its last one is accepted. */
  report: {
    retry: { baseMs: 100, firstMs: 500, maxMs: 5_000 },
    /**
     * The server checks every 0.5 s whether its full disk accepts writes again. A refused report costs the server
     * little.
     */
    soon: { baseMs: 500, firstMs: 500, maxMs: 500 },
  },
  log: { retry: { baseMs: 200, firstMs: 500, maxMs: 30_000 } },
  upload: { retry: defaultWait },
  list: { retry: defaultWait },
  download: { retry: { baseMs: 200, firstMs: 500, maxMs: 30_000 } },
  /** The guard retries to write the exit record after every error, because only the guard knows how the run ended. */
  exitRecord: { retry: { baseMs: 1_000, firstMs: 0, maxMs: 0 } },
} as const;

/** The pauses of loops that repeat more than one call. Each failure makes the pause longer. */
export const loopWaits = {
  heartbeat: { baseMs: 0, firstMs: 1_000, maxMs: 8_000 },
  /** The pause between the end of a command stream and the next registration. */
  session: { baseMs: 0, firstMs: 250, maxMs: 30_000 },
  /** The pause before a token file is read again. */
  tokenFile: { baseMs: 0, firstMs: 1_000, maxMs: 15_000 },
  metrics: { baseMs: 500, firstMs: 1_000, maxMs: 30_000 },
  /** The pause after the orchestrator's copy of a log did not end at the expected offset. */
  logOffset: { baseMs: 0, firstMs: 500, maxMs: 30_000 },
  /** The pause after a completed job, while the server has no room or has not accepted the final report yet. */
  outputs: { baseMs: 200, firstMs: 2_000, maxMs: 300_000 },
} as const;

/** Returns the retry policy of a kind of call: its pauses and its decisions. */
export const policyOf = <K extends keyof typeof waits & keyof Decisions>(call: K) => ({
  waits: waits[call],
  decide: (failure: Failure): Decisions[K] => decide(call, failure),
});
