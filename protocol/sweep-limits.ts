import type { SweepValue } from './job-about.ts';

/** Limits of sweeps. They are in a separate file, because the panel does not load the schemas. */

/** Maximum number of jobs that one sweep submits. */
export const maxSweepJobs = 256;

/** Maximum number of config keys that one sweep varies. */
export const maxSweepKeys = 8;

/** A config key, and the values that a sweep gives it. */
export interface SweepAxis {
  key: string;
  values: SweepValue[];
}
