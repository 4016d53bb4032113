import { randomBytes } from 'node:crypto';
import type { Fetch } from '../../protocol/client.ts';
import type { MetricPoint } from '../../protocol/metrics-api.ts';
import { version } from '../../protocol/version.ts';
import { createAgent } from '../session/agent.ts';
import { type ApiClient, createApiClient, createShipCall, type ShipCall } from '../connection/api-client.ts';
import { type Clock, systemClock } from '../clock.ts';
import { createFollowStream, type FollowStream } from '../connection/command-stream.ts';
import { type Accelerator, type Gpu, makeReport } from '../gpu/report.ts';
import { introductionOf } from '../session/register.ts';
import { openNetwork, usualTrust } from '../connection/network.ts';
import { holdRegistrations } from '../state/state-folder.ts';
import type { RunOrigin } from '../attempt/run.ts';
import type { RunListeners } from '../attempt/run-follow.ts';
import {
  createSimulatedLogs,
  type SimulatedLogs,
  type SimulatedTrainer,
  simulateRun,
} from './simulated-job.ts';
import type { Telemetry } from '../session/telemetry.ts';
import { holdWorkerToken } from '../session/worker-token.ts';
import type { JobOffer, PreparedJob } from '../job.ts';

export { type Clock, systemClock } from '../clock.ts';
export type { Accelerator } from '../gpu/report.ts';
export type { SimulatedTrainer, SimulatedTraining } from './simulated-job.ts';
export type { Telemetry } from '../session/telemetry.ts';

export interface SimulatedWorkerDeps {
  readonly url: string;
  readonly token: string;
  /** Sends the calls to the orchestrator; by default over the real network. */
  readonly fetch?: Fetch;
  readonly name: string;
  /** If false, the worker leaves after one job. */
  readonly persistent: boolean;
  readonly accelerator: Accelerator;
  readonly gpus: readonly Gpu[];
  readonly trainer: SimulatedTrainer;
  readonly telemetry: () => Telemetry;
  readonly random: () => number;
  /** Called when the command stream has opened or ended. */
  readonly onConnection: (isOpen: boolean) => void;
  /** One line for people. */
  readonly log: (message: string) => void;
  readonly clock?: Clock;
}

export interface SimulatedWorker {
  /** Runs until the worker has left. Resolves with the exit code that a real agent would have. */
  run(): Promise<number>;
  /** Stops the job, reports that, and disconnects. */
  leaveNow(): void;
  /** Cuts the network without a `disconnect` call; a training continues. */
  vanish(): void;
  /** Restores the network. */
  comeBack(): void;
}

/**
 * Creates the real agent with simulated GPUs, trainer and network. Several such workers can share a process. They write
 * nothing to disk, so a training ends when its worker ends.
 */
export function createSimulatedWorker(deps: SimulatedWorkerDeps): SimulatedWorker {
  const { url, token, name, persistent, clock = systemClock, fetch = openNetwork(usualTrust) } = deps;
  const over = new AbortController();
  const network = breakable(
    createApiClient({ url, token: () => token, fetch, signal: over.signal }),
    noteConnection(createFollowStream(fetch), deps.onConnection),
  );
  const call = createShipCall({ url, token: () => token, fetch });
  const ship: ShipCall = (...chunk) => network.through(() => call(...chunk));
  const logs = createSimulatedLogs({ ship, clock, random: deps.random, signal: over.signal });
  const report = makeReport(deps.accelerator, deps.gpus);
  const agent = createAgent({
    clock,
    uptime: clock.mono,
    api: network.api,
    followStream: network.followStream,
    url,
    token: holdWorkerToken({ current: () => token, reload: () => false, file: null }),
    persistent,
    introduction: {
      ...introductionOf(
        { name, persistent, labels: {}, allowedConfigKeys: [], upload: 'all' },
        version,
        report,
        [],
      ),
      // The simulated trainer runs configs for any trainer.
      trainers: [{ name: 'any', version: null }],
      multi_node: true,
      instance_id: `simulated-${name}`,
      start_id: randomBytes(12).toString('hex'),
    },
    state: { keepReport: () => {}, dropReport: () => {} },
    registrations: holdRegistrations(),
    found: null,
    jobs: { ...trainingOf(deps.trainer, clock, logs), onLine: () => {} },
    logs,
    telemetry: deps.telemetry,
    gpuFigures: async () => figuresOf(deps.telemetry(), deps.gpus),
    random: deps.random,
    log: deps.log,
  });
  return {
    async run() {
      const code = await agent.run();
      over.abort();
      return code;
    },
    leaveNow: agent.leaveNow,
    vanish: network.cut,
    comeBack: network.mend,
  };
}

/** Returns the values of each GPU for curves. If the telemetry has no values per GPU, all GPUs get the same values. */
function figuresOf(
  { gpu_utilization: utilization, vram_used_gb: usedGb, gpu_figures: gpuFigures = [] }: Telemetry,
  gpus: readonly Gpu[],
): MetricPoint['values'] {
  const sharedGb = typeof usedGb === 'number' ? usedGb / gpus.length : null;
  const figures = gpus.flatMap(({ index }): readonly (readonly [string, unknown])[] => {
    const ofGpu = gpuFigures.find(gpu => gpu.index === index);
    const memoryGb = ofGpu?.vram_used_gb ?? sharedGb;
    return [
      [`gpu.${index}.utilization`, ofGpu?.utilization ?? utilization],
      [`gpu.${index}.memory_mb`, memoryGb === null ? null : Math.round(memoryGb * 1024)],
      [`gpu.${index}.temperature_c`, ofGpu?.temperature_c],
      [`gpu.${index}.power_w`, ofGpu?.power_w],
    ];
  });
  return Object.fromEntries(
    figures.flatMap(([key, value]) => (typeof value === 'number' ? [[key, value] as const] : [])),
  );
}

/** Prepares and starts simulated trainings. The worker has one slot, so it starts the job that was prepared last. */
function trainingOf(trainer: SimulatedTrainer, clock: Clock, logs: SimulatedLogs) {
  let prepared: JobOffer | null = null;
  return {
    // Simulated trainings on several machines do not connect to each other.
    reachable: async () => ({ address: '127.0.0.1', port: 29_500 }),
    prepare(offer: JobOffer) {
      prepared = offer;
      const job: PreparedJob = {
        folder: '',
        outputDir: '',
        logFile: '',
        argv: [],
        samplesAreFiles: false,
        dataTargets: [],
        cwd: '',
        env: {},
      };
      return { ok: true, job } as const;
    },
    async start(_job: PreparedJob, origin: RunOrigin, listeners: RunListeners) {
      if (prepared?.attempt_id !== origin.attemptId) throw new Error('another job was prepared');
      const { config_name: configName, config, upload_token: uploadToken = null } = prepared;
      const print = (origin.rank ?? 0) === 0 ? logs.open(origin) : () => {};
      const onProgress: RunListeners['onProgress'] = progress => {
        print(progress);
        listeners.onProgress(progress);
      };
      return simulateRun(
        origin,
        { ...listeners, onProgress },
        { trainer, clock, job: { configName, config, uploadToken } },
      );
    },
  };
}

const noteConnection =
  (followStream: FollowStream, note: (isOpen: boolean) => void): FollowStream =>
  async deps => {
    let isOpen = false;
    const onOpen = (): void => {
      isOpen = true;
      note(true);
      deps.onOpen();
    };
    const end = await followStream({ ...deps, onOpen });
    if (isOpen) note(false);
    return end;
  };

/** A connection to the orchestrator that can be cut, to simulate a network failure. */
interface BreakableNetwork {
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  /** Sends another call over the same connection. */
  through<R>(send: () => Promise<R>): Promise<R | Unreachable>;
  /** Closes the stream. Until `mend`, every call fails as `unreachable`. */
  cut(): void;
  mend(): void;
}

interface Unreachable {
  readonly ok: false;
  readonly failure: { readonly kind: 'unreachable'; readonly cause: unknown };
}

/** Wraps the API and the command stream in a network that can be cut. */
export function breakable(api: ApiClient, followStream: FollowStream): BreakableNetwork {
  let connection = new AbortController();
  const unreachable = (): Unreachable => ({
    ok: false,
    failure: { kind: 'unreachable', cause: new Error('the network is down') },
  });
  const ifConnected = async <R>(send: () => Promise<R>): Promise<R | Unreachable> =>
    connection.signal.aborted ? unreachable() : send();
  return {
    api: {
      register: body => ifConnected(() => api.register(body)),
      beat: body => ifConnected(() => api.beat(body)),
      report: (jobId, attemptId, body) => ifConnected(() => api.report(jobId, attemptId, body)),
      uploadPoints: (jobId, attemptId, points) =>
        ifConnected(() => api.uploadPoints(jobId, attemptId, points)),
      disconnect: workerId => ifConnected(() => api.disconnect(workerId)),
    },
    async followStream(deps) {
      const signal = AbortSignal.any([deps.signal, connection.signal]);
      const end = await followStream({ ...deps, signal });
      return deps.signal.aborted || end !== 'aborted' ? end : 'lost';
    },
    through: ifConnected,
    cut: () => connection.abort(),
    mend() {
      if (connection.signal.aborted) connection = new AbortController();
    },
  };
}
