import { judgeCurves } from './curves.ts';
import { judgeFiles } from './files.ts';
import { judgeLogs } from './logs.ts';
import { judgeResults } from './results.ts';
import type { JobCase, Violation } from './violation.ts';

/** Runs all checks of one job. Returns the violations. */
export const judgeJob = (jobCase: JobCase): readonly Violation[] => [
  ...judgeResults(jobCase),
  ...judgeFiles(jobCase),
  ...judgeCurves(jobCase),
  ...judgeLogs(jobCase),
];
