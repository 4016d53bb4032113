import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { type Agent, type AgentDeps, createAgent } from '../../../agent/session/agent.ts';
import { createApiClient } from '../../../agent/connection/api-client.ts';
import { systemClock } from '../../../agent/clock.ts';
import { createFollowStream } from '../../../agent/connection/command-stream.ts';
import {
  type FinalReport,
  openStateFolder,
  readReport,
  type StateFolder,
} from '../../../agent/state/state-folder.ts';
import { holdWorkerToken, openToken, type TokenHolder } from '../../../agent/session/token-holder.ts';
import { offerOf, scriptJob, tempFolder } from './builders.ts';
import { type HeldRun, holdRun } from './held-runs.ts';
import { type Call, type ScriptedOrchestrator, startOrchestrator } from './scripted-orchestrator.ts';

export interface AgentBench {
  readonly agent: Agent;
  /** Resolves with the exit code. */
  readonly exit: Promise<number>;
  readonly state: StateFolder;
  /** The report that is on disk. */
  kept(): FinalReport | null;
  /** The trainers that were started, each in the test's hands. */
  readonly runs: readonly HeldRun[];
  readonly said: readonly string[];
  /** Resolves when a trainer has been started, the `nth` from 1. */
  started(nth?: number): Promise<HeldRun>;
  /** Resolves when a stream is open, the `nth` from 1. */
  connected(nth?: number): Promise<void>;
  /** Resolves when something with these words has been said, for the `nth` time. */
  says(words: string, nth?: number): Promise<void>;
}

/** Every wait of the agent is in the test's hands; sockets go their own way. */
export function holdTime(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());
}

/** Lets time pass: beats, backoffs and graces within it come due. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Lets time pass, ten times as fast as on the wall, until this has come: for waits of which nobody knows when they begin. */
export async function passUntil<T>(coming: Promise<T>, stepMs = 90): Promise<T> {
  let isHere = false;
  void coming.then(() => (isHere = true));
  const look = (): void => {
    if (isHere) return;
    vi.advanceTimersByTime(stepMs);
    throw new Error('it has not come');
  };
  await vi.waitFor(look, { interval: 10, timeout: 9_000 });
  return coming;
}

export function tokenOf(source: Parameters<typeof openToken>[0]): TokenHolder {
  const token = openToken(source);
  if (!token.ok) throw new Error(token.message);
  return holdWorkerToken(token.value);
}

interface Waiting {
  readonly count: () => number;
  readonly nth: number;
  readonly resolve: () => void;
}

export function startAgent(
  { url }: Pick<ScriptedOrchestrator, 'url'>,
  parts: Partial<AgentDeps> & { readonly stateDir?: string } = {},
): AgentBench {
  const { stateDir = tempFolder(), ...overrides } = parts;
  const state = openStateFolder(stateDir);
  const runs: HeldRun[] = [];
  const said: string[] = [];
  const waiting = new Set<Waiting>();
  const look = (): void => {
    for (const wait of waiting) {
      if (wait.count() < wait.nth) continue;
      waiting.delete(wait);
      wait.resolve();
    }
  };
  const reach = (count: () => number, nth: number): Promise<void> =>
    new Promise(resolve => {
      waiting.add({ count, nth, resolve });
      look();
    });
  const says = (words: string, nth = 1): Promise<void> =>
    reach(() => said.filter(line => line.includes(words)).length, nth);
  const token = parts.token ?? tokenOf({ kind: 'value', token: 'wt_1' });
  const agent = createAgent({
    clock: systemClock,
    api: createApiClient({ url, token: token.current, fetch, signal: new AbortController().signal }),
    uptime: () => performance.now(),
    followStream: createFollowStream(fetch),
    url,
    token,
    persistent: true,
    introduction: { name: 'rig', gpu_info: { count: 2, name: 'RTX 4090' } },
    state,
    registrations: state.registrations,
    found: null,
    jobs: {
      prepare: () => ({ ok: true, job: scriptJob('/nowhere', '') }),
      start: async (_job, _origin, ears) => {
        const held = holdRun(ears);
        runs.push(held);
        look();
        return held.run;
      },
      onLine: () => {},
    },
    telemetry: () => ({ gpu_utilization: 42 }),
    gpuFigures: async () => ({}),
    // Waits are as short as they may be.
    random: () => 0,
    log: message => {
      said.push(message);
      look();
    },
    ...overrides,
  });
  return {
    agent,
    exit: agent.run(),
    state,
    kept: () => keptIn(state),
    runs,
    said,
    async started(nth = 1) {
      await reach(() => runs.length, nth);
      const run = runs[nth - 1];
      if (run === undefined) throw new Error('it was there a moment ago');
      return run;
    },
    connected: nth => says('Connected to', nth),
    says,
  };
}

const keptIn = ({ runsDir }: StateFolder): FinalReport | null =>
  readdirSync(runsDir)
    .map(name => readReport({ path: join(runsDir, name) }))
    .find(report => report !== null) ?? null;

export interface Busy extends AgentBench {
  readonly orchestrator: ScriptedOrchestrator;
  readonly run: HeldRun;
}

/** An agent whose first job runs. */
export async function startBusy(parts: Parameters<typeof startAgent>[1] = {}): Promise<Busy> {
  const orchestrator = await startOrchestrator();
  const bench = startAgent(orchestrator, parts);
  await bench.connected();
  orchestrator.push(offerOf('j1', 'a1'));
  const run = await bench.started();
  await orchestrator.reported('running');
  return { ...bench, orchestrator, run };
}

/** Lets time pass until the next beat has been answered; by then the answer to the one before has been obeyed. */
export const beat = (orchestrator: ScriptedOrchestrator): Promise<Call> =>
  passUntil(orchestrator.nth('heartbeat', orchestrator.count('heartbeat') + 1), 3_000);
