import { judgeCurves } from './curves.ts';
import { judgeFiles } from './files.ts';
import { judgeLogs } from './logs.ts';
import { judgeResults } from './results.ts';
import type { JobCase, Violation } from './violation.ts';

/** All checks of one job. */
export const judgeJob = (jobCase: JobCase): readonly Violation[] => [
  ...judgeResults(jobCase),
  ...judgeFiles(jobCase),
  ...judgeCurves(jobCase),
  ...judgeLogs(jobCase),
];
