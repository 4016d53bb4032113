import type { SweepValue } from './job-about.ts';

/** Limits of sweeps, also for the panel, which does not load their schemas. */

/** Maximum number of jobs that one sweep submits. */
export const maxSweepJobs = 256;

/** Maximum number of values of a config that one sweep varies. */
export const maxSweepKeys = 8;

/** A value of a config, and the values that it takes in turn. */
export interface SweepAxis {
  key: string;
  values: SweepValue[];
}
