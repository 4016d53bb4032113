/**
 * A process of the v1 agent: its options, its state, and its input and output. Numbers in brackets are items of
 * docs/internals/worker-contract.md, section 3.
 */
import os from 'node:os';
import type { V1Observation, V1ObservationOf } from './v1-events.ts';
import { createV1Http, type V1Http } from './v1-http.ts';
import type { FakeRun, V1Trainer } from './v1-trainer.ts';
import { createV1Loop, type V1Loop, type V1Wait, type V1WaitReason, waitForReal } from './v1-waits.ts';

/**
 * The detected GPUs. From torch: `driver` is the CUDA version (null on ROCm), and `vram_gb` is in units of 10^9 bytes. From
 * nvidia-smi: no `driver`, and `vram_gb` in GiB. If neither is available, `count` is 0 and all other values are unknown.
 */
export interface V1GpuInfo {
  readonly name: string;
  readonly vram_gb: number | null;
  readonly count: number;
  readonly driver?: string | null;
  readonly accelerator: string | null;
}

export interface V1AgentOptions {
  /** The orchestrator's URL without a path. A trailing slash is removed. */
  readonly url: string;
  readonly token: string;
  /** The source of the token. As an argument, a token that starts with `-` makes the agent exit with code 2 immediately [13]. */
  readonly tokenFrom?: 'argument' | 'environment';
  /** Default: the host's name [13]. */
  readonly name?: string;
  /** Default: ephemeral. */
  readonly persistent?: boolean;
  readonly gpuInfo?: V1GpuInfo;
  /** Sent only when set. */
  readonly provider?: string;
  readonly trainer: V1Trainer;
  /**
   * The agent's sleep function; waits in real time by default. The agent also sleeps between heartbeats, so a function that does
   * not wait causes a flood of heartbeats.
   */
  readonly wait?: V1Wait;
  /** Time between two heartbeats in ms; 30 s by default. The agent sends the first heartbeat when it opens the stream. */
  readonly heartbeatMs?: number;
  /**
   * Called after the answer to the final report of a job, before the agent forgets the job. In this interval, which a test can
   * extend, the agent drops offered jobs [4].
   */
  readonly beforeClear?: (jobId: string) => Promise<void>;
  /** Creates the HTTP client. Default: real sockets; aborting `dead` destroys them. */
  readonly http?: (dead: AbortSignal) => V1Http;
}

export interface V1State {
  workerId: string | null;
  /** The job that the agent believes it is running. After a `job_submit` without `job_id`, the job has no id. */
  currentJob: { readonly jobId: string | undefined } | null;
  run: FakeRun | null;
  isShutdownRequested: boolean;
}

/** The options with all defaults filled in. */
export type V1Config = Required<Omit<V1AgentOptions, 'provider'>> & Pick<V1AgentOptions, 'provider'>;

export interface V1Core {
  readonly config: V1Config;
  readonly state: V1State;
  readonly loop: V1Loop;
  readonly http: V1Http;
  readonly emit: (observation: V1Observation) => void;
  readonly wait: V1Wait;
  /**
   * Waits as a coroutine does: returns only when the agent's event loop is free. Aborting the signal ends the wait early,
   * without an error.
   */
  pause(ms: number, reason: V1WaitReason, signal?: AbortSignal): Promise<void>;
}

const A100: V1GpuInfo = {
  name: 'NVIDIA A100-SXM4-80GB',
  vram_gb: 85.1,
  count: 1,
  driver: '12.4',
  accelerator: 'cuda',
};

/** Creates the core of an agent process. Aborting `dead` ends all its calls and waits. */
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

/** Returns the id of the agent's job. Throws for a job without an id. */
export function nameJob(job: { readonly jobId: string | undefined }): string {
  if (job.jobId === undefined) throw new Error("KeyError: 'job_id'");
  return job.jobId;
}

/** Formats a value as an f-string does: strings stay unchanged. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the object. Throws for any other value, as a key lookup in Python does. */
export function requireObject(value: unknown): StreamEvent {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error('TypeError: JSON that is no object');
}
