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
import { holdWorkerToken, openToken, type TokenHolder } from '../../../agent/session/worker-token.ts';
import { offerOf, reachable, scriptJob, tempFolder } from './builders.ts';
import { type ControlledRun, controlRun } from './controlled-runs.ts';
import { type Call, type ScriptedOrchestrator, startOrchestrator } from './scripted-orchestrator.ts';

export interface AgentFixture {
  readonly agent: Agent;
  /** Resolves with the exit code when the agent ends. */
  readonly exit: Promise<number>;
  readonly state: StateFolder;
  /** The final report in the agent's state folder; null when there is none. */
  storedReport(): FinalReport | null;
  /** The trainers that the agent has started. The test controls how they end. */
  readonly runs: readonly ControlledRun[];
  /** The lines that the agent has logged. */
  readonly logLines: readonly string[];
  /** Resolves with the nth trainer, counted from 1, once the agent has started it. */
  started(nth?: number): Promise<ControlledRun>;
  /** Resolves when the nth stream, counted from 1, is open. */
  connected(nth?: number): Promise<void>;
  /** Resolves when the agent has logged a line with these words for the nth time. */
  logged(words: string, nth?: number): Promise<void>;
}

/** Replaces the timers of the agent with fake timers. Sockets still run in real time. */
export function useFakeTimers(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());
}

/** Advances the fake time, so that heartbeats, pauses and grace periods within it run. */
export const advanceTime = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/**
 * Advances the fake time about ten times as fast as real time until `awaited` resolves. The steps are small,
 * because the agent may start a new timer at any moment.
 */
export async function advanceTimeUntil<T>(awaited: Promise<T>, stepMs = 90): Promise<T> {
  let hasResolved = false;
  void awaited.then(() => (hasResolved = true));
  // Throws until `awaited` has resolved, because `vi.waitFor` repeats a function that throws.
  const advance = (): void => {
    if (hasResolved) return;
    vi.advanceTimersByTime(stepMs);
    throw new Error('the awaited promise has not resolved yet');
  };
  await vi.waitFor(advance, { interval: 10, timeout: 9_000 });
  return awaited;
}

export function openTokenHolder(source: Parameters<typeof openToken>[0]): TokenHolder {
  const token = openToken(source);
  if (!token.ok) throw new Error(token.message);
  return holdWorkerToken(token.value);
}

/** A pending wait of a test. `resolve` is called when `count` returns at least `nth`. */
interface Wait {
  readonly count: () => number;
  readonly nth: number;
  readonly resolve: () => void;
}

/** Starts an agent that calls this orchestrator. `options` replaces some of its dependencies. */
export function startAgent(
  { url }: Pick<ScriptedOrchestrator, 'url'>,
  options: Partial<AgentDeps> & { readonly stateDir?: string } = {},
): AgentFixture {
  const { stateDir = tempFolder(), ...overrides } = options;
  const state = openStateFolder(stateDir);
  const runs: ControlledRun[] = [];
  const logLines: string[] = [];
  const waits = new Set<Wait>();
  const resolveReached = (): void => {
    for (const wait of waits) {
      if (wait.count() < wait.nth) continue;
      waits.delete(wait);
      wait.resolve();
    }
  };
  const waitForCount = (count: () => number, nth: number): Promise<void> =>
    new Promise(resolve => {
      waits.add({ count, nth, resolve });
      resolveReached();
    });
  const logged = (words: string, nth = 1): Promise<void> =>
    waitForCount(() => logLines.filter(line => line.includes(words)).length, nth);
  const token = options.token ?? openTokenHolder({ kind: 'value', token: 'wt_1' });
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
      reachable,
      start: async (_job, _origin, listeners) => {
        const controlled = controlRun(listeners);
        runs.push(controlled);
        resolveReached();
        return controlled.run;
      },
      onLine: () => {},
    },
    telemetry: () => ({ gpu_utilization: 42 }),
    gpuFigures: async () => ({}),
    // Makes each random pause as short as possible.
    random: () => 0,
    log: message => {
      logLines.push(message);
      resolveReached();
    },
    ...overrides,
  });
  return {
    agent,
    exit: agent.run(),
    state,
    storedReport: () => readStoredReport(state),
    runs,
    logLines,
    async started(nth = 1) {
      await waitForCount(() => runs.length, nth);
      const run = runs[nth - 1];
      if (run === undefined) throw new Error('the agent has started fewer trainers than expected');
      return run;
    },
    connected: nth => logged('Connected to', nth),
    logged,
  };
}

const readStoredReport = ({ runsDir }: StateFolder): FinalReport | null =>
  readdirSync(runsDir)
    .map(name => readReport({ path: join(runsDir, name) }))
    .find(report => report !== null) ?? null;

export interface AgentWithJob extends AgentFixture {
  readonly orchestrator: ScriptedOrchestrator;
  readonly run: ControlledRun;
}

/** Starts an agent whose first job is running. */
export async function startAgentWithJob(
  options: Parameters<typeof startAgent>[1] = {},
): Promise<AgentWithJob> {
  const orchestrator = await startOrchestrator();
  const fixture = startAgent(orchestrator, options);
  await fixture.connected();
  orchestrator.push(offerOf('j1', 'a1'));
  const run = await fixture.started();
  await orchestrator.reported('running');
  return { ...fixture, orchestrator, run };
}

/** Advances the time until the next heartbeat is answered. The agent has then acted on the previous answer. */
export const nextHeartbeat = (orchestrator: ScriptedOrchestrator): Promise<Call> =>
  advanceTimeUntil(orchestrator.nth('heartbeat', orchestrator.count('heartbeat') + 1), 3_000);
