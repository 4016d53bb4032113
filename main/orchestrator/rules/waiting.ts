import type { WaitReason, WorkerReason } from '../../../protocol/explain.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { GpuTrouble, GpuTroubleKind } from '../../../protocol/worker.ts';
import { trainerNamed } from '../../../trainers/index.ts';
import type { JobBlocker } from './queue-rules.ts';
import { compileMatcher, type Mismatch } from './matching.ts';
import type { Offering } from '../model.ts';
import type { IneligibilityReason } from './worker-rules.ts';

export interface Candidate {
  readonly id: WorkerId;
  readonly name: string;
  /** The orchestrator's own machine. */
  readonly local: boolean;
  /** False for a worker that never registered: only what the admin has set is known about it. */
  readonly isKnown: boolean;
  readonly offering: Offering;
  /** Dataset versions on its rig. */
  readonly datasets: readonly string[];
  readonly ineligibilityReasons: readonly IneligibilityReason[];
}

/** The evaluation of a worker for one job. */
export interface Judged {
  readonly candidate: Candidate;
  readonly mismatches: readonly Mismatch[];
  /** Whether the worker would take the job now. */
  readonly fits: boolean;
}

export function judge(needs: Requirements, candidates: readonly Candidate[]): readonly Judged[] {
  const matcher = compileMatcher(needs);
  return candidates.map(candidate => {
    const all = matcher(candidate.offering);
    // Unknown properties of a worker that never registered do not count against it.
    const mismatches = candidate.isKnown ? all : all.filter(({ code }) => words[code].isSaidByAdmin);
    return { candidate, mismatches, fits: mismatches.length + candidate.ineligibilityReasons.length === 0 };
  });
}

/** Whether no worker that ever registered could take the job, idle or not. */
export const isUnsatisfiable = (judged: readonly Judged[]): boolean =>
  !judged.some(({ candidate, mismatches }) => candidate.isKnown && mismatches.length === 0);

/** The workers that meet the requirements, if all of them are offline; otherwise empty. Workers that never registered do not count. */
export function offlineTakers(judged: readonly Judged[]): readonly Candidate[] {
  const takers = judged.flatMap(({ candidate, mismatches }) =>
    candidate.isKnown && mismatches.length === 0 ? [candidate] : [],
  );
  const isOffline = ({ ineligibilityReasons }: Candidate): boolean =>
    ineligibilityReasons.some(({ code }) => code === 'offline');
  return takers.every(isOffline) ? takers : [];
}

/** Whether every worker in the right place has too few GPUs. Workers that never registered do not count. */
function areGpusMissing(judged: readonly Judged[]): boolean {
  const inPlace = judged.filter(
    ({ candidate, mismatches }) => candidate.isKnown && !mismatches.some(({ code }) => code === 'target'),
  );
  return inPlace.length > 0 && inPlace.every(({ mismatches }) => mismatches.some(isGpuCount));
}

const isGpuCount = ({ code }: Mismatch): boolean => code === 'gpu_count';

/** Why no worker takes a job, in one line, the most specific reason first. Each worker counts once. */
export function whyNobody(judged: readonly Judged[]): string {
  if (judged.length === 0) return 'No idle workers: no worker has been created yet';
  const total = judged.length;
  const matching = judged.filter(({ mismatches }) => mismatches.length === 0);
  const first = judged.flatMap(({ mismatches }) => mismatches.slice(0, 1));
  const inTheWay = matching.flatMap(({ candidate: { name, ineligibilityReasons } }) =>
    ineligibilityReasons.slice(0, 1).map(ineligibilityReason => ({ name, ineligibilityReason })),
  );
  const lacksGpus = areGpusMissing(judged);
  const reasons = lacksGpus
    ? [
        ...missing(first.toSorted((a, b) => Number(isGpuCount(b)) - Number(isGpuCount(a)))),
        ...hindering(inTheWay),
      ]
    : [...hindering(inTheWay), ...missing(first)];
  const headline = lacksGpus ? 'GPU requirements not met' : 'No idle workers';
  return `${headline}: 0 of ${total} ${total === 1 ? 'worker' : 'workers'} can take this job: ${reasons.join(', ')}`;
}

/** All reasons against a worker, including that it had the job last: then other workers are tried first. */
export function reasonsOf({ candidate, mismatches }: Judged, avoid: WorkerId | null): WorkerReason[] {
  return [
    ...candidate.ineligibilityReasons.map(ineligibilityReason => ({
      code: ineligibilityReason.code,
      wanted: null,
      ...describeIneligibility(ineligibilityReason),
    })),
    ...mismatches.map(mismatch => ({
      code: mismatch.code,
      wanted: mismatch.wanted,
      there: mismatch.offered,
      detail: words[mismatch.code].detail(mismatch.wanted, mismatch.offered),
    })),
    ...(candidate.id === avoid ? [avoided] : []),
  ];
}

const avoided: WorkerReason = {
  code: 'avoid_previous',
  wanted: null,
  there: null,
  detail: 'It had this job last: it gets it again only when no other worker takes it',
};

/** Describes a blocker of the job itself. `isoAt` formats a monotonic time. */
export function describeBlocker(
  blocker: JobBlocker,
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

function wordFor(ineligibilityReason: IneligibilityReason): string {
  switch (ineligibilityReason.code) {
    case 'never_registered':
      return ineligibilityReason.awaited ? 'still connecting' : 'never registered';
    case 'no_stream':
      return 'still connecting';
    case 'offline':
    case 'draining':
    case 'busy':
    case 'settling':
    case 'leaving':
    case 'quarantined':
      return ineligibilityReason.code;
    case 'gpu_trouble':
      return 'with GPU trouble';
    case 'local_limit':
      return 'closed by the limit of local jobs';
  }
}

type Told = Pick<WorkerReason, 'there' | 'detail'>;

function describeIneligibility(ineligibilityReason: IneligibilityReason): Told {
  switch (ineligibilityReason.code) {
    case 'never_registered':
      return { there: null, detail: 'It has not registered yet: what it has is not known' };
    case 'offline':
      return ineligibilityReason.why === 'silent'
        ? { there: 'silent', detail: 'It is out of contact' }
        : { there: 'goodbye', detail: 'Its agent has said goodbye' };
    case 'draining':
      return {
        there: ineligibilityReason.reason,
        detail: 'It is drained: it gets no other job until it is undrained',
      };
    case 'busy':
      return { there: ineligibilityReason.jobId, detail: `It has job ${ineligibilityReason.jobId}` };
    case 'settling':
      return { there: null, detail: 'Its last job has just ended: its agent would miss what comes at once' };
    case 'no_stream':
      return { there: null, detail: 'It has no stream open on which the job could be sent' };
    case 'leaving':
      return { there: null, detail: 'It has had its job, and leaves' };
    case 'quarantined':
      return {
        there: ineligibilityReason.reason,
        detail: `It is in quarantine: ${ineligibilityReason.reason}`,
      };
    case 'gpu_trouble': {
      const details = ineligibilityReason.troubles
        .map(({ gpu, detail }) => `GPU ${gpu}: ${detail}`)
        .join('; ');
      return { there: shortly(ineligibilityReason.troubles), detail: `It has GPU trouble: ${details}` };
    }
    case 'local_limit':
      return { there: '0', detail: 'The limit of jobs on this machine is 0 (local_job_max_concurrent)' };
  }
}

interface InTheWay {
  readonly name: string;
  readonly ineligibilityReason: IneligibilityReason;
}

/** Maximum number of workers with GPU trouble to name, so that people can repair them. */
const maxNamed = 3;

function hindering(all: readonly InTheWay[]): readonly string[] {
  const groups = Map.groupBy(all, ({ ineligibilityReason }) => wordFor(ineligibilityReason));
  return [...groups].map(([word, members]) => {
    const named = members.flatMap(({ name, ineligibilityReason }) =>
      ineligibilityReason.code === 'gpu_trouble' ? [`${name}: ${shortly(ineligibilityReason.troubles)}`] : [],
    );
    const who = named.length === 0 ? '' : ` (${named.slice(0, maxNamed).join('; ')})`;
    return `${members.length} ${word}${who}`;
  });
}

const troubleWords: Readonly<Record<GpuTroubleKind, string>> = {
  missing: 'is missing',
  errors: 'has uncorrectable errors',
  held: 'is held by another process',
};

/** A short text for a summary line, such as "GPU 1 has uncorrectable errors". */
const shortly = (troubles: readonly GpuTrouble[]): string =>
  troubles.map(({ gpu, kind }) => `GPU ${gpu} ${troubleWords[kind]}`).join(', ');

interface Words {
  /** For several workers, in the summary line. */
  readonly heading: (wanted: string, offered: string) => string;
  /** For one worker. */
  readonly detail: (wanted: string, offered: string) => string;
  /** Whether to list what the workers have instead. */
  readonly isListed: boolean;
  /** Known before the worker registers, because the admin sets it. */
  readonly isSaidByAdmin: boolean;
}

const words: Readonly<Record<Mismatch['code'], Words>> = {
  target: {
    heading: wanted => (wanted === 'this machine' ? 'not on this machine' : 'on this machine'),
    detail: wanted =>
      wanted === 'this machine'
        ? "The job is to run on the orchestrator's own machine, and this is another one"
        : "The job is to run on another machine than the orchestrator's own, and this is that one",
    isListed: false,
    isSaidByAdmin: true,
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
    heading: () => 'that train on without contact',
    detail: () => 'The job is to be stopped when contact is lost, and its agent cannot do that',
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

function missing(mismatches: readonly Mismatch[]): readonly string[] {
  const groups = Map.groupBy(mismatches, ({ code, wanted, offered }) => words[code].heading(wanted, offered));
  return [...groups].map(([what, members]) => {
    const listed = members.filter(({ code }) => words[code].isListed);
    const available = [...new Set(listed.map(({ offered }) => offered))].toSorted().slice(0, 5);
    const have = available.length === 0 ? '' : ` (have ${available.join(', ')})`;
    return `${members.length} ${what}${have}`;
  });
}
