import type { Saved } from '../../../../agent/artifacts/attempt-saves.ts';
import type { AskResult } from '../../../../agent/attempt/trainer-actions.ts';
import type { Availability } from '../../../../agent/availability/availability.ts';
import { createAgent } from '../../../../agent/session/agent.ts';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import type { StreamDeps } from '../../../../agent/connection/command-stream.ts';
import { holdRegistrations } from '../../../../agent/state/state-folder.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import type { Closed } from '../../../../protocol/reports.ts';
import type {
  Notice,
  RegisterReply,
  StatusReportBody,
  WorkerCommand,
} from '../../../../protocol/worker-api.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { openTokenHolder } from '../agent-fixture.ts';
import { offerOf, reachable, scriptJob, unreachable } from '../builders.ts';
import { type ControlledRun, controlRun } from '../controlled-runs.ts';

interface FixtureOptions {
  readonly allocation?: RegisterReply['allocation'];
  readonly persistent?: boolean;
  /** False when the owner of the rig has turned uploads off. */
  readonly uploads?: boolean;
  /** Why the rig is closed at the start; null when it is open. Undefined for a rig without hours. */
  readonly closed?: Closed | null;
}

/** A complete agent on virtual time. The test controls the orchestrator, the trainer, the uploads and the rig's hours. */
export async function startClosable(options: FixtureOptions = {}) {
  const clock = createVirtualClock();
  const startedAt = clock.mono();
  const streams: StreamDeps[] = [];
  const runs: (ControlledRun & { readonly stoppedAt: () => number | null })[] = [];
  /** The calls of the agent. Each entry starts with the time in seconds since the start. */
  const actions: string[] = [];
  const logged: string[] = [];
  const reports: StatusReportBody[] = [];
  const seconds = (): number => Math.round((clock.mono() - startedAt) / 1_000);
  /** The state of the fakes around the agent. Tests change this state. */
  const environment: {
    isReachable: boolean;
    notice: Notice | null;
    saved: Saved;
    saveMs: number | null;
    answer: AskResult;
    closed: Closed | null;
    /** Trainers start only after this promise has resolved. */
    startGate: Promise<unknown>;
  } = {
    isReachable: true,
    notice: null,
    saved: 'none',
    saveMs: null,
    answer: 'asked',
    closed: options.closed ?? null,
    startGate: Promise.resolve(),
  };
  /** The field `closed` of each registration and heartbeat. */
  const reportedClosed: (Closed | null | undefined)[] = [];
  const answer = <T>(value: T) =>
    environment.isReachable ? { ok: true as const, value } : { ok: false as const, failure: unreachable() };
  const api: ApiClient = {
    register: async body => {
      reportedClosed.push(body.closed);
      return answer({
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
        allocation: options.allocation,
      });
    },
    beat: async body => {
      reportedClosed.push(body.closed);
      return answer({
        success: true,
        cancel: null,
        abandon_job: null,
        heartbeat_interval_s: 30,
        notice: environment.notice,
      });
    },
    report: async (_job, attempt, body) => {
      actions.push(`${seconds()} ${body.status} ${attempt}`);
      if (environment.isReachable) reports.push(body);
      return answer({ success: true });
    },
    uploadPoints: async () => answer({ success: true, next: 0, last_step: null, last_elapsed_ms: 0 }),
    disconnect: async () => {
      actions.push(`${seconds()} disconnect`);
      return answer({ success: true });
    },
  };
  let onChange = (): void => {};
  const availability: Availability = {
    closed: () => environment.closed,
    watch: (listener, _signal) => {
      onChange = listener;
      return Promise.resolve();
    },
  };
  const agent = createAgent({
    clock,
    uptime: clock.mono,
    api,
    followStream: deps => {
      streams.push(deps);
      if (!environment.isReachable) return Promise.resolve('lost');
      deps.onOpen();
      return new Promise(resolve => deps.signal.addEventListener('abort', () => resolve('aborted')));
    },
    url: 'http://orchestrator.test',
    token: openTokenHolder({ kind: 'value', token: 'wt_1' }),
    persistent: options.persistent ?? true,
    introduction: { name: 'rig' },
    state: { keepReport: () => {}, dropReport: () => {} },
    registrations: holdRegistrations(),
    found: null,
    jobs: {
      prepare: () => ({ ok: true, job: scriptJob('/nowhere', '') }),
      reachable,
      start: async (_job, _origin, listeners) => {
        await environment.startGate;
        let stoppedAt: number | null = null;
        const controlled = controlRun(listeners, () => (stoppedAt ??= seconds()));
        runs.push({ ...controlled, stoppedAt: () => stoppedAt });
        return controlled.run;
      },
      onLine: () => {},
    },
    ask: async (_attempt, what) => {
      actions.push(`${seconds()} ask ${what}`);
      return environment.answer;
    },
    outputs: {
      follow: () => Promise.resolve(),
      finish: () => false,
      hasten: () => options.uploads !== false,
      saved: () => environment.saved,
      saveMs: () => environment.saveMs,
      rescue: async (_attempt, withinMs, end) =>
        void actions.push(`${seconds()} rescue ${end ?? ''} for ${Math.round(withinMs / 1_000)}`),
      leave: () => Promise.resolve(),
    },
    ...(options.closed !== undefined && { availability }),
    telemetry: () => ({}),
    gpuFigures: async () => ({}),
    random: () => 0.5,
    log: message => void logged.push(message),
  });
  const code = agent.run();
  const exit: { code: number | null } = { code: null };
  void code.then(value => (exit.code = value));
  await clock.settle();
  const push = (command: WorkerCommand): Promise<void> => {
    streams.at(-1)?.onCommand(command);
    return clock.settle();
  };
  return {
    agent,
    clock,
    environment,
    runs,
    actions,
    logged,
    reportedClosed,
    exit,
    push,
    /** Returns the newest accepted report. */
    lastReport: () => reports.at(-1),
    advance: (durationS: number) => clock.advance(durationS * 1_000),
    offer: (id: string) => push(offerOf(`j${id}`, `a${id}`)),
    /** Opens or closes the rig, like the start or end of its hours. */
    setClosed(closed: Closed | null) {
      environment.closed = closed;
      onChange();
      return clock.settle();
    },
    /** Ends the trainer like a trainer that was stopped by SIGTERM. */
    async endStopped(run = runs.at(-1)) {
      run?.end(143, null, '', { stopped: 'leave_now' });
      await clock.settle();
    },
  };
}
