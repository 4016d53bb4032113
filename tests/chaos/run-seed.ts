import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { conclude } from './conclude.ts';
import { heal, performFaults } from './faults.ts';
import { followLog } from './follow-log.ts';
import { type Fleet, openFleet } from './fleet.ts';
import { machineNow } from './journal.ts';
import type { Violation } from './judge/violation.ts';
import { pauseFor } from './pause.ts';
import { type ChaosPlan, drawPlan, type PlannedJob } from './plan.ts';
import type { ChaosPlant } from './plants.ts';
import { keep, reportOf } from './report.ts';

export interface SeedOptions {
  readonly seed: number;
  readonly minutes: number;
  /** A bug to add to the product. */
  readonly plant?: ChaosPlant | null;
  /** Folder for the journals and logs of the run. */
  readonly logs: string;
  /** Keeps the journals even when the run has no violations. */
  readonly keep?: boolean;
  /** Maximum number of retries per job; 2 by default. Retries after the first wait half a minute or longer. */
  readonly maxRetries?: number;
  readonly onProgress?: (text: string) => void;
}

export interface SeedResult {
  readonly seed: number;
  readonly jobs: number;
  readonly faults: number;
  readonly violations: readonly Violation[];
  /** Description of all violations and of the faults around them; empty when no rule is violated. */
  readonly report: string;
  readonly logs: string | null;
  readonly ms: number;
}

/**
 * The limits exceed the half minute before a job's second retry, and the two minutes before a worker gives up a silent upload.
 */
const recoveryLimits = { jobsMs: 120_000, recordsMs: 150_000 };
const progressEveryMs = 500;

/**
 * Runs a fleet with the faults of a seed for `minutes`. Then ends all faults, waits for the fleet to recover, and checks all
 * rules.
 */
export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const { seed, minutes, plant = null, maxRetries = 2, onProgress } = options;
  const plan = drawPlan({ seed, forMs: minutes * 60_000, maxRetries });
  const fleet = await openFleet(plant);
  const startedAt = machineNow();
  const timer = setInterval(() => onProgress?.(progressOf(fleet, plan, startedAt)), progressEveryMs);
  try {
    await Promise.all([submitJobs(fleet, plan, startedAt), performFaults(fleet, plan.faults, startedAt)]);
    await heal(fleet);
    const violations = await conclude(fleet, plan, recoveryLimits);
    const report = reportOf(fleet, violations, startedAt);
    const logs = violations.length > 0 || options.keep === true ? join(options.logs, `seed-${seed}`) : null;
    if (logs !== null) keep(fleet, report, logs);
    const ms = machineNow() - startedAt;
    return { seed, jobs: plan.jobs.length, faults: plan.faults.length, violations, report, logs, ms };
  } finally {
    clearInterval(timer);
    await fleet.close();
    rmSync(fleet.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function submitJobs(fleet: Fleet, { jobs }: ChaosPlan, startedAt: number): Promise<unknown> {
  return Promise.all(
    jobs.map(async job => {
      await pauseFor(startedAt + job.at - machineNow(), fleet.ended);
      if (!fleet.ended.aborted) await submitJob(fleet, job);
    }),
  );
}

async function submitJob({ client, server, journals, ended }: Fleet, job: PlannedJob): Promise<void> {
  const id = await client.submit(job);
  if (id === null) return;
  if (job.isFollowed) void followLog(id, server, journals.follow, ended);
  if (job.cancelAfterMs === null) return;
  await pauseFor(job.cancelAfterMs, ended);
  await client.cancel(id);
}

function progressOf({ journals, events }: Fleet, plan: ChaosPlan, startedAt: number): string {
  const startedFaults = journals.faults.lines().filter(({ kind }) => kind === 'begin').length;
  const count = (type: string): number => events.events.filter(event => event.type === type).length;
  const ended = count('job.completed') + count('job.failed') + count('job.cancelled');
  const passedS = Math.round((machineNow() - startedAt) / 1_000);
  const chaosS = Math.round(plan.forMs / 1_000);
  return (
    `seed ${plan.seed}: ${passedS} s (chaos for ${chaosS} s), ${startedFaults} of ${plan.faults.length} faults, ` +
    `${count('job.submitted')} of ${plan.jobs.length} jobs submitted, ${ended} ended`
  );
}
