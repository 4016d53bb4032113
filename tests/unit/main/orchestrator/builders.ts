import { nothingAbout } from '../../../../protocol/job-about.ts';
import type {
  AgentFacts,
  Attempt,
  AttemptEnd,
  EndedJob,
  AssignedJob,
  Job,
  JobSpec,
  LiveJob,
  PendingJob,
  ProgramUpdate,
  StopOrder,
  Worker,
  Offering,
} from '../../../../main/orchestrator/model.ts';
import type { StoredEvent } from '../../../../main/orchestrator/events.ts';
import { AttemptId, JobId, WorkerId } from '../../../../protocol/ids.ts';
import { UpdateId } from '../../../../protocol/worker-update.ts';
import {
  finalStatuses,
  type JobStatus,
  liveStatuses,
  type Requirements,
  Target,
} from '../../../../protocol/job.ts';

export const jobId = (id: string): JobId => JobId.parse(id);
export const workerId = (id: string): WorkerId => WorkerId.parse(id);
export const attemptId = (id: string): AttemptId => AttemptId.parse(id);

// The current time in most tests. The builders create objects with earlier times.
export const NOW = 1_000_000;

export function makeNeeds(changes: Partial<Requirements> = {}): Requirements {
  return {
    target: Target.enum.auto,
    gpuCount: 0,
    vramGb: 0,
    accelerator: null,
    guarded: false,
    configKeys: [],
    labels: {},
    ...changes,
  };
}

export function makeOffering(changes: Partial<Offering> = {}): Offering {
  return {
    local: false,
    nodes: 1,
    isMultiNode: false,
    gpuCount: 0,
    gpuLimit: null,
    vramGb: 0,
    accelerator: null,
    guarded: false,
    configKeys: [],
    trainers: null,
    replacesOutputs: false,
    fetchesData: false,
    fetchesInputs: false,
    labels: {},
    ...changes,
  };
}

export function makeSpec(changes: Partial<JobSpec> = {}): JobSpec {
  return {
    configName: 'demo',
    about: nothingAbout,
    requirements: makeNeeds(),
    devices: null,
    maxRetries: 3,
    retryOn: [],
    onLostContact: 'continue',
    timeoutMs: null,
    requests: [],
    ...changes,
  };
}

export function makeEnd(changes: Partial<AttemptEnd> = {}): AttemptEnd {
  return {
    at: 900_000,
    outcome: 'given_up',
    charged: true,
    cause: 'worker_lost',
    error: 'the worker was lost',
    exitCode: null,
    signal: null,
    ...changes,
  };
}

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    id: attemptId('a1'),
    jobId: jobId('j1'),
    n: 1,
    workerId: workerId('w1'),
    offeredAt: 500_000,
    startedAt: 600_000,
    end: null,
    late: null,
    resumed: null,
    ...changes,
  };
}

const baseJob = {
  id: jobId('j1'),
  order: 7,
  user: 'ada',
  team: null,
  rank: { priority: 10, boosts: 0, boostAt: null, top: 0, level: 10, turn: 7 },
  approval: null,
  retryOf: null,
  retryRoot: null,
  dependencies: null,
  queuedAt: 400_000,
  progress: { step: 5 },
} as const;

/** Creates a pending job that waits for its second attempt after its first attempt was lost. */
export function makePending(changes: Partial<PendingJob> = {}): PendingJob {
  return {
    ...baseJob,
    spec: makeSpec(),
    retriesUsed: 1,
    attempt: makeAttempt({ end: makeEnd() }),
    status: 'pending',
    notBefore: 0,
    ...changes,
  };
}

/** Creates a job that is assigned to a worker. By default, a cancelling job was cancelled by a user. */
export function makeLive(
  status: LiveJob['status'],
  changes: Partial<Omit<AssignedJob, 'status'>> & { readonly why?: StopOrder['why'] } = {},
): LiveJob {
  const { why = 'cancel', ...rest } = changes;
  const startedAt = status === 'dispatched' ? null : 600_000;
  const assigned = {
    ...baseJob,
    spec: makeSpec(),
    retriesUsed: 0,
    attempt: makeAttempt({ startedAt }),
    ...rest,
  };
  return status === 'cancelling'
    ? { ...assigned, status, stop: { why, since: 800_000 } }
    : { ...assigned, status };
}

export function makeEnded(status: EndedJob['status'], changes: Partial<EndedJob> = {}): EndedJob {
  const cause = status === 'failed' ? 'trainer_exit' : null;
  return {
    ...baseJob,
    spec: makeSpec(),
    retriesUsed: 0,
    attempt: makeAttempt({ end: makeEnd({ outcome: status, cause, error: null }) }),
    status,
    endedAt: 900_000,
    cause,
    error: null,
    ...changes,
  };
}

export function makeJob(status: JobStatus): Job {
  const liveStatus = liveStatuses.find(candidate => candidate === status);
  if (liveStatus !== undefined) return makeLive(liveStatus);
  const finalStatus = finalStatuses.find(candidate => candidate === status);
  return finalStatus === undefined ? makePending() : makeEnded(finalStatus);
}

export function makeAgent(changes: Partial<AgentFacts> = {}): AgentFacts {
  return {
    capabilities: {
      gpuCount: 1,
      gpuName: 'RTX 4090',
      gpuVramGb: 24,
      accelerator: 'cuda',
      driver: null,
      gpus: [],
    },
    host: 'rig-1',
    persistent: true,
    labels: {},
    protocol: 2,
    instanceId: null,
    startId: null,
    registrationNo: null,
    address: null,
    agentVersion: null,
    gpuTroubles: [],
    allowedConfigKeys: null,
    trainers: null,
    outputs: null,
    datasets: null,
    registeredAt: 0,
    ...changes,
  };
}

/** Creates a worker, by default registered and persistent. */
export function makeWorker(changes: Partial<Worker> = {}): Worker {
  return {
    id: workerId('w1'),
    name: 'rig',
    type: 'persistent',
    local: false,
    labels: {},
    createdAt: 0,
    agent: makeAgent(),
    drain: null,
    lastContactAt: null,
    gone: null,
    served: false,
    strikes: [],
    quarantine: null,
    ...changes,
  };
}

/** Creates an update, by default queued. */
export const makeUpdate = (changes: Partial<ProgramUpdate> = {}): ProgramUpdate => ({
  id: UpdateId.parse('u_1'),
  request: UpdateId.parse('u_r'),
  atOnce: 1,
  when: 'idle',
  by: 'admin',
  state: 'queued',
  since: 0,
  startedAt: null,
  target: { version: '1.1.0', program: 'trainyard-worker.mjs', sha256: 'b'.repeat(64) },
  reason: null,
  ...changes,
});

export function makeEvent(seq: number): StoredEvent {
  return { kind: 'worker', type: 'worker.registered', workerId: workerId('w1'), seq, at: 0 };
}

/** Freezes the value and all its parts, so that code that tries to change them throws. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freezeDeep(part);
  }
  return value;
}
