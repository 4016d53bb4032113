import type { WaitReason, WorkerReason } from '../../../protocol/explain.ts';
import type { GpuTrouble, GpuTroubleKind } from '../../../protocol/worker.ts';
import { trainerNamed } from '../../../trainers/index.ts';
import type { Mismatch } from './matching.ts';
import type { FixedBlocker } from './queue-rules.ts';
import type { IneligibilityReason } from './worker-rules.ts';

/** Describes a blocker of the job itself. `isoAt` formats a monotonic time. */
export function describeBlocker(
  blocker: FixedBlocker,
  isoAt: (at: number) => string,
): Pick<WaitReason, 'code' | 'detail'> {
  const { code } = blocker;
  switch (code) {
    case 'approval':
      return { code, detail: 'Waits for approval by somebody who may manage the queue' };
    case 'backoff':
      return { code, detail: `Waits until ${isoAt(blocker.until)} before the next attempt` };
    case 'paused': {
      const note = blocker.note === null ? '' : `: ${blocker.note}`;
      return { code, detail: `The queue is paused by ${blocker.by}${note}` };
    }
    case 'limit': {
      const { of, name, running, limit } = blocker;
      switch (of) {
        case 'queue':
          return { code, detail: `${running} of ${limit} jobs run: the limit of the queue` };
        case 'user':
          return { code, detail: `${running} of ${limit} jobs of ${name} run: the limit of each user` };
        case 'team':
          return { code, detail: `${running} of ${limit} jobs of team ${name} run: the limit of this team` };
      }
    }
  }
}

/** Describes the reason in a few words, for a summary line. */
export function wordFor(reason: IneligibilityReason): string {
  switch (reason.code) {
    case 'never_registered':
      return reason.awaited ? 'still connecting' : 'never registered';
    case 'no_stream':
      return 'still connecting';
    case 'offline':
    case 'draining':
    case 'busy':
    case 'settling':
    case 'leaving':
    case 'closed':
    case 'updating':
    case 'quarantined':
      return reason.code;
    case 'gpu_trouble':
      return 'with GPU trouble';
    case 'local_limit':
      return 'closed by the limit of local jobs';
  }
}

type ReasonText = Pick<WorkerReason, 'there' | 'detail'>;

/** Describes the reason in a sentence. `there`: the property of the worker that causes it. */
export function describeIneligibility(reason: IneligibilityReason): ReasonText {
  switch (reason.code) {
    case 'never_registered':
      return { there: null, detail: 'It has not registered yet, so its hardware and trainers are unknown' };
    case 'offline':
      return reason.why === 'silent'
        ? { there: 'silent', detail: 'It is out of contact' }
        : { there: 'goodbye', detail: 'Its agent has disconnected' };
    case 'draining':
      return {
        there: reason.reason,
        detail: 'It is drained: it gets no other job until it is undrained',
      };
    case 'busy':
      return { there: reason.jobId, detail: `It has job ${reason.jobId}` };
    case 'settling':
      return {
        there: null,
        detail: 'Its last job has just ended: its agent would miss a job that arrives immediately',
      };
    case 'no_stream':
      return { there: null, detail: 'It has no open stream, so no job can be sent to it' };
    case 'leaving':
      return { there: null, detail: 'It had its only job, and leaves' };
    case 'closed':
      return { there: null, detail: reason.detail };
    case 'updating':
      return { there: null, detail: 'It is being updated: it takes jobs again when the new program runs' };
    case 'quarantined':
      return {
        there: reason.reason,
        detail: `It is in quarantine: ${reason.reason}`,
      };
    case 'gpu_trouble': {
      const details = reason.troubles.map(({ gpu, detail }) => `GPU ${gpu}: ${detail}`).join('; ');
      return { there: describeTroubles(reason.troubles), detail: `It has GPU trouble: ${details}` };
    }
    case 'local_limit':
      return { there: '0', detail: 'The limit of jobs on this machine is 0 (local_job_max_concurrent)' };
  }
}

const troubleWords: Readonly<Record<GpuTroubleKind, string>> = {
  missing: 'is missing',
  errors: 'has uncorrectable errors',
  held: 'is held by another process',
};

/** Describes GPU troubles for a summary line, such as "GPU 1 has uncorrectable errors". */
export const describeTroubles = (troubles: readonly GpuTrouble[]): string =>
  troubles.map(({ gpu, kind }) => `GPU ${gpu} ${troubleWords[kind]}`).join(', ');

interface Words {
  /** Describes the mismatch of several workers, in the summary line. */
  readonly heading: (wanted: string, offered: string) => string;
  /** Describes the mismatch of one worker, in a sentence. */
  readonly detail: (wanted: string, offered: string) => string;
  /** Whether the summary line lists the values that the workers have. */
  readonly isListed: boolean;
  /** Whether the value is known before the worker registers, because the admin sets it. */
  readonly isSaidByAdmin: boolean;
}

/** The texts of each mismatch. */
export const words: Readonly<Record<Mismatch['code'], Words>> = {
  target: {
    heading: wanted => (wanted === 'this machine' ? 'not on this machine' : 'on this machine'),
    detail: wanted =>
      wanted === 'this machine'
        ? "The job must run on the orchestrator's own machine, and this is another one"
        : "The job must not run on the orchestrator's own machine, and this is that machine",
    isListed: false,
    isSaidByAdmin: true,
  },
  nodes: {
    heading: wanted => (wanted === '1' ? 'with several machines' : `without ${wanted} machines`),
    detail: (wanted, offered) =>
      wanted === '1'
        ? `Machines: the job needs one, it has ${offered}`
        : `Machines: the job needs ${wanted}. This worker has ${offered}, and its version cannot train together with others`,
    isListed: false,
    isSaidByAdmin: false,
  },
  gpu_count: {
    heading: wanted => (wanted === '1' ? 'without a GPU' : `with fewer than ${wanted} GPUs`),
    detail: (wanted, offered) => `GPUs: the job needs ${wanted}, it has ${offered}`,
    isListed: true,
    isSaidByAdmin: false,
  },
  gpu_limit: {
    heading: wanted => `where a job may not use ${wanted} GPUs`,
    detail: (wanted, offered) =>
      `GPUs: the job uses ${wanted}, and the limit on this machine is ${offered} (local_gpu_max_concurrent)`,
    isListed: false,
    isSaidByAdmin: false,
  },
  vram: {
    heading: wanted => `with less than ${wanted} a GPU`,
    detail: (wanted, offered) => `Memory of each GPU: the job needs ${wanted}, it has ${offered}`,
    isListed: true,
    isSaidByAdmin: false,
  },
  accelerator: {
    heading: wanted => `without ${wanted}`,
    detail: (wanted, offered) => `Kind of GPU: the job needs ${wanted}, it has ${offered}`,
    isListed: true,
    isSaidByAdmin: false,
  },
  guard: {
    heading: () => 'that keep training without contact',
    detail: () => 'The job must stop when contact is lost, and the agent of this worker cannot do that',
    isListed: false,
    isSaidByAdmin: false,
  },
  trainer: {
    heading: wanted => `without ${titleOf(wanted)}`,
    detail: (wanted, offered) =>
      `Trainer: the config is for ${titleOf(wanted)}, and this rig has ${offered === 'none' ? 'no trainer' : offered}`,
    isListed: false,
    isSaidByAdmin: false,
  },
  data: {
    heading: () => 'that cannot fetch data',
    detail: () => 'Data: the job has datasets to fetch, and this worker cannot fetch them. Update the worker',
    isListed: false,
    isSaidByAdmin: false,
  },
  inputs: {
    heading: () => 'that cannot fetch files of other jobs',
    detail: () =>
      'Inputs: the job takes files of other jobs, and this worker cannot fetch them. Update the worker',
    isListed: false,
    isSaidByAdmin: false,
  },
  config_key: {
    heading: wanted => `that do not allow ${wanted}`,
    detail: wanted =>
      `Config: the job uses ${wanted}, which the owner of this worker has not allowed (--allow-config-scripts)`,
    isListed: false,
    isSaidByAdmin: false,
  },
  label: {
    heading: wanted => `label ${wanted}`,
    detail: (wanted, offered) => `Label: the job needs ${wanted}, it has ${offered}`,
    isListed: true,
    isSaidByAdmin: true,
  },
};

/** The name of a trainer as its authors write it. */
const titleOf = (name: string): string => trainerNamed(name)?.title ?? name;
