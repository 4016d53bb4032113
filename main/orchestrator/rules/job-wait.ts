import type { JobWait } from '../../../protocol/job-wait.ts';
import type { JobBlocker } from './queue-rules.ts';
import { isUnsatisfiable, type Judged } from './waiting.ts';

/** Converts a blocker to its form for programs. `isoAt` formats a monotonic time. */
export function waitOf(blocker: JobBlocker, isoAt: (at: number) => string): JobWait {
  const { code } = blocker;
  return { code, params: paramsOf(blocker, isoAt), workers: [] };
}

function paramsOf(blocker: JobBlocker, isoAt: (at: number) => string): JobWait['params'] {
  switch (blocker.code) {
    case 'approval':
      return {};
    case 'backoff':
      return { until: isoAt(blocker.until) };
    case 'paused':
      return { by: blocker.by, ...(blocker.note === null ? {} : { note: blocker.note }) };
    case 'limit': {
      const { of, name, running, limit } = blocker;
      return { running, max: limit, ...(name === null ? {} : { [of]: name }) };
    }
  }
}

/** A wait without parameters. */
export const plainWait = (code: string): JobWait => ({ code, params: {}, workers: [] });

/** Why no worker takes a job. Each worker that meets the requirements counts once, by its first reason. */
export function waitForWorkers(judged: readonly Judged[]): JobWait {
  if (judged.length === 0) return plainWait('no_workers');
  const codes = judged.flatMap(({ mismatches, candidate }) =>
    mismatches.length === 0 ? candidate.ineligibilityReasons.slice(0, 1).map(({ code }) => code) : [],
  );
  // A worker that never registered may fit, but it does not count if registered workers exist and none of them fits.
  const isUnmet = judged.some(({ candidate }) => candidate.isKnown) && isUnsatisfiable(judged);
  if (codes.length === 0 || isUnmet) return plainWait('unmet');
  const workers = [...Map.groupBy(codes, code => code)].map(([code, all]) => ({ code, count: all.length }));
  return { code: 'busy', params: {}, workers };
}
