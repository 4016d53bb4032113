import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CallFailure } from '../../protocol/client.ts';
import { compareVersions } from '../../protocol/version.ts';
import type { UpdateId, UpdateOrder, UpdateReport } from '../../protocol/worker-update.ts';
import type { Clock } from '../clock.ts';
import type { UpdateCall } from '../connection/api-client.ts';
import { reasonOf } from '../files/failure-text.ts';
import { createBackoff, pause } from '../retry/retry.ts';
import {
  downloadProgram,
  type FetchDeps,
  PassingError,
  UpdateError,
  versionOrFail,
} from './fetch-program.ts';
import { sha256Of, type UpdatableProgram } from './program.ts';
import type { TryBook } from './try-book.ts';

/** A new program that was checked, and is stored beside the old one. */
export interface StagedProgram {
  readonly id: UpdateId;
  readonly version: string;
  readonly path: string;
  /** Whether `path` is the worker's own file, because another worker of this machine has already replaced it. */
  readonly isInstalled: boolean;
}

/** An update that failed during an earlier run of the worker in this process, and the reason. */
export interface FailedUpdate {
  readonly id: UpdateId;
  readonly reason: string;
}

export interface UpdaterDeps extends Pick<FetchDeps, 'url' | 'fetch'> {
  readonly clock: Clock;
  readonly program: UpdatableProgram;
  readonly version: string;
  readonly instanceId: string;
  readonly tries: TryBook;
  readonly failed: FailedUpdate | null;
  /** Returns the output of a program for `--version`; rejects when it does not run. */
  readonly versionOf: (command: readonly string[]) => Promise<string>;
  readonly report: UpdateCall;
  /** Whether the next process can continue the work: the trainer has a guard, or there is no job. */
  readonly canHandOver: () => boolean;
  /** Leaves so that the next process continues the job. */
  readonly handOver: () => void;
  readonly log: (message: string) => void;
  /** Fires when the agent has ended. */
  readonly signal: AbortSignal;
}

export interface Updater {
  /** Carries out an order. Ignores repetitions, because the orchestrator repeats an order in every response. */
  take(order: UpdateOrder): void;
  /** The program that takes over when the agent has left; null for none. */
  staged(): StagedProgram | null;
}

/** Maximum number of starts of an update. After that, the update probably ends the worker each time. */
const maxTries = 3;
const downloadTries = 4;
const retryPauseMs = 10_000;
const pollMs = 500;

export function createUpdater(deps: UpdaterDeps): Updater {
  const { program, log, failed } = deps;
  let current: UpdateId | null = null;
  let staged: StagedProgram | null = null;
  const finished = new Set<UpdateId>();

  const fail = async (id: UpdateId, reason: string): Promise<void> => {
    log(`The update failed: ${reason}. This worker keeps its program`);
    await send(deps, { id, state: 'failed', reason });
    finish(id);
  };
  /** Remembers the update, because a response that was sent earlier can still repeat its order. */
  const finish = (id: UpdateId): void => {
    finished.add(id);
    current = null;
  };
  const run = async (order: UpdateOrder): Promise<void> => {
    if (failed?.id === order.id) return fail(order.id, failed.reason);
    const prepared = await prepare(order, deps);
    if (typeof prepared === 'string') return fail(order.id, prepared);
    if (prepared === null || !(await mayRestart(order, deps))) return discard(order.id, prepared);
    if (prepared.isInstalled) log(`Restarting with version ${prepared.version}, which is installed already`);
    else log(`Restarting with version ${prepared.version}. A training continues`);
    staged = prepared;
    deps.handOver();
  };
  const discard = (id: UpdateId, prepared: StagedProgram | null): void => {
    if (prepared !== null && !prepared.isInstalled) rmSync(prepared.path, { force: true });
    finish(id);
  };

  return {
    take(order) {
      // A process that tries out a new program leaves the rest of the update to its parent.
      if (current !== null || staged !== null || finished.has(order.id) || program.reported.trial) return;
      current = order.id;
      void run(order).catch((cause: unknown) => {
        log(`The update ended unexpectedly: ${reasonOf(cause)}`);
        current = null;
      });
    },
    staged: () => staged,
  };
}

/**
 * Returns the path of the draft. Each worker of a machine has its own draft, which replaces the draft of a killed
 * process.
 */
const draftOf = (path: string, instanceId: string): string =>
  join(dirname(path), `.trainyard-update-${instanceId}`);

/** Downloads and checks the program. Returns the program, the reason for a failure, or null when the agent ends. */
async function prepare(order: UpdateOrder, deps: UpdaterDeps): Promise<StagedProgram | string | null> {
  const { own, reported } = deps.program;
  if (own === null || reported.blocked !== null)
    return `This worker does not replace its program (${reported.blocked ?? 'checkout'})`;
  if (own.name !== order.program) return `The order is for ${order.program}, and this is ${own.name}`;
  if (compareVersions(deps.version, order.version) === 'newer')
    return `Version ${order.version} is older than this worker, ${deps.version}`;
  if (deps.tries.begin(order.id) > maxTries)
    return `This worker was interrupted ${maxTries} times while it updated itself`;
  await send(deps, { id: order.id, state: 'downloading' });
  try {
    const isInstalled = (await sha256Of(own.path)) === order.sha256;
    const path = isInstalled ? own.path : draftOf(own.path, deps.instanceId);
    if (!isInstalled) await download(order, path, { ...deps, own });
    const version = await versionOrFail(() => deps.versionOf([...own.runner, path]));
    if (compareVersions(deps.version, version) === 'newer')
      throw new UpdateError(
        `The program of the orchestrator is version ${version}, older than ${deps.version}`,
      );
    return { id: order.id, version, path, isInstalled };
  } catch (cause) {
    if (deps.signal.aborted) return null;
    return cause instanceof UpdateError ? cause.message : reasonOf(cause);
  }
}

async function download(order: UpdateOrder, path: string, deps: UpdaterDeps & FetchDeps): Promise<void> {
  for (let n = 1; ; n += 1) {
    rmSync(path, { force: true });
    try {
      return await downloadProgram(deps, path, order.sha256);
    } catch (cause) {
      rmSync(path, { force: true });
      if (!(cause instanceof PassingError) || n === downloadTries) throw cause;
      deps.log(`${cause.message}. Trying again in ${retryPauseMs / 1_000} s`);
      if (!(await pause(deps.clock, retryPauseMs, deps.signal))) throw cause;
    }
  }
}

/**
 * Waits until the next process can continue the job, and then until the orchestrator allows the restart. Returns false when
 * the orchestrator refuses, or when the agent ends.
 */
async function mayRestart({ id }: UpdateOrder, deps: UpdaterDeps): Promise<boolean> {
  do {
    while (!deps.canHandOver()) if (!(await pause(deps.clock, pollMs, deps.signal))) return false;
    if ((await send(deps, { id, state: 'restarting' })) !== true) return false;
  } while (!deps.canHandOver());
  return true;
}

const isFinal = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.status < 500 && ![401, 408, 429].includes(failure.status);

/** Sends a report until it is answered. Returns whether the worker may continue; null when the agent ends first. */
async function send({ report, clock, signal }: UpdaterDeps, body: UpdateReport): Promise<boolean | null> {
  const backoff = createBackoff({ firstMs: 1_000, maxMs: 30_000 });
  while (!signal.aborted) {
    const answer = await report(body);
    if (answer.ok) return answer.value.proceed;
    // An orchestrator that rejects the report does not know the update.
    if (isFinal(answer.failure)) return false;
    if (!(await pause(clock, backoff.nextMs(), signal))) break;
  }
  return null;
}
