/**
 * One v1 agent process: what it was started with, its state, and what it reaches the world through. Numbers in
 * brackets are items of CONTRACT.md, section 3.
 */
import os from 'node:os';
import type { V1Observation, V1ObservationOf } from './v1-events.ts';
import { createV1Http, type V1Http } from './v1-http.ts';
import type { FakeRun, V1Trainer } from './v1-trainer.ts';
import { createV1Loop, type V1Loop, type V1Wait, type V1WaitReason, waitForReal } from './v1-waits.ts';

/**
 * What it detects: through torch with `driver` (the CUDA version, null on ROCm) and `vram_gb` in units of 10^9
 * bytes, through nvidia-smi without `driver` and in GiB; without either all unknown and `count` 0.
 */
export interface V1GpuInfo {
  readonly name: string;
  readonly vram_gb: number | null;
  readonly count: number;
  readonly driver?: string | null;
  readonly accelerator: string | null;
}

export interface V1AgentOptions {
  /** The orchestrator, without a path; a trailing slash is cut off. */
  readonly url: string;
  readonly token: string;
  /** Where the token is given. As an argument it cannot begin with `-` [13]: the agent exits 2 at once. */
  readonly tokenFrom?: 'argument' | 'environment';
  /** Default: the host's name [13]. */
  readonly name?: string;
  /** Default: ephemeral. */
  readonly persistent?: boolean;
  readonly gpuInfo?: V1GpuInfo;
  /** Sent only when given. */
  readonly provider?: string;
  readonly trainer: V1Trainer;
  /** Default: real time. Heartbeats wait here too, so a function that never waits makes a flood of them. */
  readonly wait?: V1Wait;
  /** Between two beats, 30 s by default; the first is sent as the stream is opened. */
  readonly heartbeatMs?: number;
  /**
   * Awaited by a trainer's watcher after the answer to its terminal report and before the job is forgotten: the
   * instant in which a pushed job is dropped [4], held for as long as a test likes.
   */
  readonly beforeClear?: (jobId: string) => Promise<void>;
  /** Default: real sockets, which are destroyed with `dead`. */
  readonly http?: (dead: AbortSignal) => V1Http;
}

export interface V1State {
  workerId: string | null;
  /** What the agent believes it runs; a job without a name is what a `job_submit` without `job_id` leaves. */
  currentJob: { readonly jobId: string | undefined } | null;
  run: FakeRun | null;
  isShutdownRequested: boolean;
}

/** The options with every default filled in. */
export type V1Config = Required<Omit<V1AgentOptions, 'provider'>> & Pick<V1AgentOptions, 'provider'>;

export interface V1Core {
  readonly config: V1Config;
  readonly state: V1State;
  readonly loop: V1Loop;
  readonly http: V1Http;
  readonly emit: (observation: V1Observation) => void;
  readonly wait: V1Wait;
  /** Waits as a coroutine; an aborted signal ends it early, without an error. */
  pause(ms: number, reason: V1WaitReason, signal?: AbortSignal): Promise<void>;
}

const A100: V1GpuInfo = {
  name: 'NVIDIA A100-SXM4-80GB',
  vram_gb: 85.1,
  count: 1,
  driver: '12.4',
  accelerator: 'cuda',
};

/** All its calls and waits die with `dead`. */
export function createCore(options: V1AgentOptions, emit: V1Core['emit'], dead: AbortSignal): V1Core {
  const config = fillIn(options);
  const loop = createV1Loop();
  const wait: V1Wait = (ms, reason, signal) => config.wait(ms, reason, AbortSignal.any([dead, signal]));
  return {
    config,
    state: { workerId: null, currentJob: null, run: null, isShutdownRequested: false },
    loop,
    http: config.http(dead),
    emit,
    wait,
    async pause(ms, reason, signal = dead) {
      try {
        await loop.io(wait(ms, reason, signal));
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

function fillIn(options: V1AgentOptions): V1Config {
  const { token } = options;
  const url = options.url.replace(/\/+$/, '');
  return {
    url,
    token,
    tokenFrom: options.tokenFrom ?? 'argument',
    name: options.name ?? os.hostname(),
    persistent: options.persistent ?? false,
    gpuInfo: options.gpuInfo ?? A100,
    provider: options.provider,
    trainer: options.trainer,
    wait: options.wait ?? waitForReal,
    heartbeatMs: options.heartbeatMs ?? 30_000,
    beforeClear: options.beforeClear ?? (async () => undefined),
    http: options.http ?? (dead => createV1Http(url, token, dead)),
  };
}

export type StreamEvent = Readonly<Record<string, unknown>>;

export function requestShutdown(
  { state, emit }: V1Core,
  by: V1ObservationOf<'leaving'>['by'],
  reason: string | null = null,
): void {
  state.isShutdownRequested = true;
  emit({ kind: 'leaving', by, reason });
}

/** The name under which the agent speaks of its job. Throws for one that came without. */
export function nameJob(job: { readonly jobId: string | undefined }): string {
  if (job.jobId === undefined) throw new Error("KeyError: 'job_id'");
  return job.jobId;
}

/** A value inside a text, as an f-string would put it there: strings as they are. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** As in Python, what is no mapping cannot be asked for a key. */
export function requireObject(value: unknown): StreamEvent {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error('TypeError: JSON that is no object');
}
