import { afterEach, beforeEach, expect, it, type MockInstance, vi } from 'vitest';
import { createAgent } from '../../../../agent/session/agent.ts';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import type { StreamDeps } from '../../../../agent/connection/command-stream.ts';
import { holdRegistrations, openStateFolder } from '../../../../agent/state/state-folder.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { openTokenHolder } from '../agent-fixture.ts';
import { offerOf, reachable, scriptJob, tempFolder, unreachable } from '../builders.ts';
import { type ControlledRun, controlRun, newest } from '../controlled-runs.ts';

/** Spies on all timers and clocks of the platform, which the agent must not use. */
let timers: readonly MockInstance[] = [];
beforeEach(() => {
  timers = [
    vi.spyOn(globalThis, 'setTimeout'),
    vi.spyOn(globalThis, 'setInterval'),
    vi.spyOn(performance, 'now'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(AbortSignal, 'timeout'),
  ];
});
afterEach(() => void vi.restoreAllMocks());

/** A complete agent without sockets and processes. The test controls the orchestrator, the stream, the trainer and the time. */
function startVirtualAgent() {
  const clock = createVirtualClock();
  const startedAt = clock.mono();
  const calls: string[] = [];
  const streams: StreamDeps[] = [];
  const runs: ControlledRun[] = [];
  const fixture = { isReachable: true };
  const call = <T>(description: string, value: T) => {
    calls.push(`${clock.mono() - startedAt} ${description}`);
    return fixture.isReachable
      ? { ok: true as const, value }
      : { ok: false as const, failure: unreachable() };
  };
  const api: ApiClient = {
    register: async ({ current_attempt_id: attempt }) =>
      call(`register ${attempt ?? 'nothing'}`, {
        worker_id: WorkerId.parse('w_1'),
        name: 'rig',
        sse_url: '',
        resume_job: null,
        abandon_job: null,
        cancel: null,
        protocol: 2,
        heartbeat_interval_s: 30,
        heartbeat_timeout_s: 120,
        stop_grace_s: 20,
        stream_silence_s: 60,
      }),
    beat: async ({ status, attempt_id: attempt }) =>
      call(`heartbeat ${status} ${attempt ?? 'nothing'}`, {
        success: true,
        cancel: null,
        abandon_job: null,
        heartbeat_interval_s: 30,
      }),
    report: async (_job, attempt, { status }) => call(`${status} ${attempt}`, { success: true }),
    uploadPoints: async (_job, attempt, points) =>
      call(`send ${points.length} points of ${attempt}`, {
        success: true,
        next: (points.at(-1)?.n ?? -1) + 1,
        last_step: null,
        last_elapsed_ms: 0,
      }),
    disconnect: async () => call('disconnect', { success: true }),
  };
  const agent = createAgent({
    clock,
    uptime: clock.mono,
    api,
    followStream: deps => {
      calls.push(`${clock.mono() - startedAt} stream`);
      streams.push(deps);
      deps.onOpen();
      return new Promise(resolve => {
        deps.signal.addEventListener('abort', () => resolve('aborted'));
      });
    },
    url: 'http://orchestrator.test',
    token: openTokenHolder({ kind: 'value', token: 'wt_1' }),
    persistent: false,
    introduction: { name: 'rig' },
    state: openStateFolder(tempFolder()),
    registrations: holdRegistrations(),
    found: null,
    jobs: {
      prepare: () => ({ ok: true, job: scriptJob('/nowhere', '') }),
      reachable,
      start: async (_job, _origin, listeners) => {
        const controlled = controlRun(listeners);
        runs.push(controlled);
        return controlled.run;
      },
      onLine: () => {},
    },
    telemetry: () => ({}),
    gpuFigures: async () => ({}),
    random: () => 0.5,
    log: () => {},
  });
  return Object.assign(fixture, { clock, calls, streams, runs, exit: agent.run() });
}

it('runs a complete job on a virtual clock without any timer or clock of the platform', async () => {
  const fixture = startVirtualAgent();
  const { clock, calls, streams, runs, exit } = fixture;
  await clock.advance(30_000);
  newest(streams).onCommand(offerOf('j1', 'a1'));
  await clock.advance(1_000);
  newest(runs).listeners.onProgress({ step: 1 });
  newest(runs).listeners.onProgress({ step: 2 });
  await clock.advance(1_000);
  fixture.isReachable = false;
  newest(runs).end(0);
  await clock.advance(1_000);
  fixture.isReachable = true;
  await clock.advance(60_000);
  expect(await exit).toBe(0);
  // Each call with its time in ms since the start.
  expect(calls).toEqual([
    '0 register nothing',
    '0 stream',
    '1000 heartbeat idle nothing',
    '30000 starting a1',
    '30000 running a1',
    '31000 heartbeat busy a1',
    '31000 running a1',
    '32000 running a1',
    '32000 completed a1',
    '32350 completed a1',
    '32950 completed a1',
    '34050 completed a1',
    '34050 disconnect',
  ]);
  expect(timers.flatMap(({ mock }) => mock.calls)).toEqual([]);
});
