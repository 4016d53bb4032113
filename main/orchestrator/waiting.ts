import type { Requirements } from '../../protocol/job.ts';
import type { WorkerStatus } from '../../protocol/worker.ts';
import { compileMatcher, type Mismatch, type Offering } from './matching.ts';

export interface Candidate {
  readonly status: WorkerStatus | 'quarantined';
  readonly offering: Offering;
}

/** Why nobody takes a job, in one line that begins with the guide's words for it. */
export function whyWaiting(needs: Requirements, candidates: readonly Candidate[]): string {
  if (candidates.length === 0) return 'No idle workers: no worker has been created yet';
  const matcher = compileMatcher(needs);
  const judged = candidates.map(({ status, offering }) => ({ status, mismatches: matcher(offering) }));
  const total = judged.length;
  const fitting = judged.filter(({ mismatches }) => mismatches.length === 0);
  if (fitting.some(({ status }) => status === 'idle')) return 'An idle worker fits: the job is next';
  const reasons = [
    ...count(fitting.map(({ status }) => (status === 'connecting' ? 'still connecting' : status))),
    ...missing(judged.flatMap(({ mismatches }) => mismatches.slice(0, 1))),
  ];
  const onlyGpus =
    fitting.length === 0 && judged.every(({ mismatches }) => mismatches[0]?.code === 'gpu_count');
  const headline = onlyGpus ? 'GPU requirements not met' : 'No idle workers';
  return `${headline}: 0 of ${total} ${total === 1 ? 'worker' : 'workers'} can take this job: ${reasons.join(', ')}`;
}

function count(words: readonly string[]): readonly string[] {
  const groups = Map.groupBy(words, word => word);
  return [...groups].map(([word, members]) => `${members.length} ${word}`);
}

const tooFew = (wanted: string): string =>
  wanted === '1' ? 'without a GPU' : `with fewer than ${wanted} GPUs`;

const headings: Readonly<Record<Mismatch['code'], (wanted: string) => string>> = {
  target: wanted => (wanted === 'this machine' ? 'not on this machine' : 'on this machine'),
  gpu_count: tooFew,
  vram: wanted => `with less than ${wanted} a GPU`,
  accelerator: wanted => `without ${wanted}`,
  guard: () => 'that train on without contact',
  label: wanted => `label ${wanted}`,
};

function missing(mismatches: readonly Mismatch[]): readonly string[] {
  const groups = Map.groupBy(mismatches, ({ code, wanted }) => headings[code](wanted));
  return [...groups].map(([what, members]) => {
    const there = [...new Set(members.map(member => member.there))].toSorted().slice(0, 5);
    const have = members.some(({ code }) => code === 'guard' || code === 'target')
      ? ''
      : ` (have ${there.join(', ')})`;
    return `${members.length} ${what}${have}`;
  });
}
