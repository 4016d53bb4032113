import type { JobOffer } from '../../../agent/job.ts';
import type { Connection } from './connection.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import { createRig, type Rig, type RigDeps, type RunningAgent } from './rig.ts';
import type { WireRequest } from './wire.ts';

export interface WildOptions extends Omit<RigDeps, 'launch' | 'restartMs' | 'losePower'> {
  readonly random: Random;
  /** Heartbeat timeout (T) in ms. */
  readonly heartbeatTimeoutMs: number;
}

/**
 * Creates a rig whose agent trains nothing, and sends random calls about all jobs that it was ever offered. These calls must not
 * break a guarantee for other workers or jobs.
 */
export function createWildRig(deps: WildOptions): Rig {
  return createRig({
    ...deps,
    restartMs: () => deps.random.int(2_000, 20_000),
    losePower: () => {},
    launch: (process, token) => launchAgent(deps, process, token),
  });
}

const neverEnds = new Promise<never>(() => {});
const answerMs = 10_000;

function launchAgent(deps: WildOptions, process: SimProcess, token: () => string): RunningAgent {
  const { random, link, plan } = deps;
  const offers: Pick<JobOffer, 'job_id' | 'attempt_id'>[] = [];
  const seenAttempts = new Set<string>();
  let stream: Connection | null = null;

  const request = (method: 'GET' | 'POST', path: string, body: unknown): WireRequest => ({
    kind: 'worker',
    method,
    path: `/api/workers/${path}`,
    token: token(),
    body,
    address: `10.0.0.${plan.index + 1}`,
  });
  const post = (path: string, body: unknown): void => {
    void link.call(process, request('POST', path, body), answerMs);
  };
  const openStream = (): void => {
    stream?.close();
    stream = link.connect(process, request('GET', `stream?worker_id=${deps.workerId}`, null), {
      onOpen: () => {},
      onFrame(frame) {
        const { type, job_id, attempt_id } = frame as Partial<JobOffer>;
        if (type !== 'job_submit' || job_id === undefined || attempt_id === undefined) return;
        if (seenAttempts.has(attempt_id)) return;
        seenAttempts.add(attempt_id);
        // Delay some offers, so that calls about them start only after the orchestrator has taken the job away.
        const laterMs = random.chance(0.3) ? deps.heartbeatTimeoutMs / 2 : 0;
        process.clock.after(laterMs, () => offers.push({ job_id, attempt_id }));
      },
      onEnd: () => {},
      onError: () => {},
    });
  };
  /** Returns the job that the next call names, usually the newest; null for none. A v1 agent names no attempt. */
  const subject = (): { readonly job: string; readonly attempt: string | null } | null => {
    const newest = offers.at(-1);
    if (newest === undefined || random.chance(0.25))
      return random.chance(0.1) ? { job: 'j999', attempt: null } : null;
    const { job_id: job, attempt_id } = random.chance(0.6) ? newest : random.pick([newest, ...offers]);
    return { job, attempt: plan.protocol === 2 ? attempt_id : null };
  };
  const register = (): void => {
    const about = random.chance(0.6) ? subject() : null;
    post('register', {
      name: `host-of-${plan.name}`,
      persistent: plan.persistent,
      current_job_id: about?.job ?? null,
      gpu_info: {
        name: 'RTX 4090',
        vram_gb: 24,
        count: plan.gpus,
        accelerator: 'cuda',
      },
      ...(plan.protocol === 2 && {
        protocol: 2,
        instance_id: `machine-of-${plan.name}`,
        start_id: 'start-1',
        labels: plan.labels,
        current_attempt_id: about?.attempt ?? null,
      }),
    });
  };
  const beat = (): void => {
    const about = subject();
    const named = {
      current_job_id: about?.job ?? null,
      ...(about?.attempt && { attempt_id: about.attempt }),
    };
    post('heartbeat', { worker_id: deps.workerId, status: about === null ? 'idle' : 'busy', ...named });
  };
  const report = (): void => {
    const about = subject();
    if (about === null) return;
    const status = random.pick(['starting', 'running', 'running', 'completed', 'failed', 'cancelled']);
    const exit = status === 'failed' ? { exit_code: random.pick([1, -15]), error: 'so it says' } : {};
    post(`job/${about.job}/status`, { status, ...exit, ...(about.attempt && { attempt_id: about.attempt }) });
  };
  const act = (): void => {
    if (random.chance(0.1)) {
      // Stay silent for longer than T, so that the worker goes offline.
      const silentMs = deps.heartbeatTimeoutMs * (1 + random.next());
      process.clock.after(silentMs, random.pick([report, beat, register, openStream]));
      process.clock.after(silentMs + 1_000, random.pick([report, beat, register]));
      process.clock.after(silentMs + 2_000, act);
      return;
    }
    random.pick([report, report, report, beat, beat, register, openStream, openStream, goAway])();
    process.clock.after(random.int(50, 9_000), act);
  };
  const goAway = (): void => post('disconnect', { worker_id: deps.workerId });

  register();
  process.clock.after(100, openStream);
  process.clock.after(200, act);
  return { exited: neverEnds, isBusy: () => true, leaveNow: goAway, handOver: () => {} };
}
