import type { Random } from '../world/random.ts';
import type { Act, SubmitTerms, JobPlan, Span } from './plan.ts';

/**
 * Draws how a user submits a job. `random` must be a separate random stream, so that the draws do not change what the job does.
 */
export function drawSubmitTerms(random: Random, index: number): SubmitTerms {
  const needsApproval = random.chance(0.15);
  return {
    user: random.pick(['ada', 'ada', 'bob']),
    needsApproval,
    isNow: !needsApproval && random.chance(0.08),
    hasKey: random.chance(0.3),
    after: drawParent(random.fork('after'), index),
  };
}

function drawParent(random: Random, index: number): SubmitTerms['after'] {
  if (index === 0 || !random.chance(0.4)) return null;
  return { job: random.int(0, index - 1), on: random.pick(['success', 'end']) };
}

/** Draws the acts of users who manage the queue. The acts are rare, so that jobs keep running. */
export function drawQueueActs(random: Random, { healAtMs }: Span, jobs: readonly JobPlan[]): readonly Act[] {
  const beforeHeal = (): number => Math.floor(random.next() * healAtMs * 0.95);
  const soonAfter = (atMs: number, share: number): number =>
    atMs + Math.floor(random.next() * healAtMs * share);
  const approvals = jobs
    .filter(({ submitTerms: terms }) => terms.needsApproval)
    .map(({ index, atMs }): Act => {
      const kind = random.chance(0.7) ? 'approve' : 'reject';
      return { kind, job: index, atMs: soonAfter(atMs, 0.3) };
    });
  const aboutJobs = (['approve', 'reject', 'reject', 'move to top', 'retry', 'remove'] as const).flatMap(
    kind =>
      random
        .some(jobs, 0.12)
        .map(({ index, atMs }): Act => ({ kind, job: index, atMs: soonAfter(atMs, 0.6) })),
  );
  const priorities = random.some(jobs, 0.1).map(
    ({ index, atMs }): Act => ({
      kind: 'priority',
      job: index,
      priority: random.pick([0, 10, 30, 50]),
      atMs: soonAfter(atMs, 0.2),
    }),
  );
  return [...approvals, ...aboutJobs, ...priorities, ...drawQueueSettings(random, beforeHeal, soonAfter)];
}

function drawQueueSettings(
  random: Random,
  beforeHeal: () => number,
  soonAfter: (atMs: number, share: number) => number,
): readonly Act[] {
  const pauses = random.chance(0.25) ? [beforeHeal()] : [];
  const limits = random.chance(0.5) ? [beforeHeal(), beforeHeal()] : [];
  const cleanUps = random.chance(0.15) ? [beforeHeal()] : [];
  return [
    ...pauses.flatMap((atMs): readonly Act[] => [
      { kind: 'pause', atMs },
      { kind: 'resume', atMs: soonAfter(atMs, 0.2) },
    ]),
    ...limits.flatMap((atMs): readonly Act[] => [
      {
        kind: 'limit',
        all: random.pick([null, 1, 1, 2]),
        perUser: random.pick([null, 1, 1, 2]),
        perTeam: random.fork(`team limit at ${atMs}`).pick([null, 1, 2]),
        atMs,
      },
      { kind: 'limit', all: null, perUser: null, perTeam: null, atMs: soonAfter(atMs, 0.5) },
    ]),
    ...cleanUps.map((atMs): Act => ({ kind: 'clean up', atMs })),
  ];
}
