import { waitForClosedConnections } from '../faults/server-process.ts';
import { eventually } from '../support/notices.ts';
import { argvOf, processesOf } from '../support/own-processes.ts';
import { root, startProgram } from '../support/processes.ts';
import { join } from 'node:path';
import { type JobEvidence, readAudit, readJob, readStatuses, readWorkers, tryToken } from './evidence.ts';
import { type Fleet, waitUntilIdle } from './fleet.ts';
import { machineNow, runsIn } from './journal.ts';
import { judgeAudit, judgeEvents } from './judge/history.ts';
import { judgeJob } from './judge/job.ts';
import { judgeFollowing } from './judge/logs.ts';
import { judgeRemains } from './judge/remains.ts';
import { judgeAnswers, judgeSubmits } from './judge/submits.ts';
import { finalStatuses, type JobCase, type Violation } from './judge/violation.ts';
import { pauseFor } from './pause.ts';
import type { ChaosPlan } from './plan.ts';

/** Maximum time for the fleet to recover after the last fault. */
export interface RecoveryLimits {
  /** Until all jobs have ended. */
  readonly jobsMs: number;
  /** Until all records of the jobs are complete. The same limit applies again until all workers are idle. */
  readonly recordsMs: number;
}

const pollMs = 1_000;

/** Waits for the fleet to recover within the limits, checks all rules, and stops the fleet. Returns the violations. */
export async function conclude(
  fleet: Fleet,
  plan: ChaosPlan,
  limits: RecoveryLimits,
): Promise<readonly Violation[]> {
  await waitUntilAllEnded(fleet, limits.jobsMs);
  const jobs = await judgeJobs(fleet, plan, limits.recordsMs);
  const { server, events, journals } = fleet;
  await waitUntilIdle(server, fleet.ended, limits.recordsMs);
  const { statuses, lastSeq } = await readStatuses(server);
  await events
    .waitFor('the last events', () => (events.events.at(-1)?.seq ?? 0) >= lastSeq, 5_000)
    .catch(() => {});
  const workers = await readWorkers(server);
  const audit = await readAudit(server);
  const received = { events: [...events.events], faults: [...events.faults], lastSeq };
  const lines = journals.client.lines();
  const logOf = (id: string, attempt: number): string | null =>
    jobs.evidence.get(id)?.logs.get(attempt) ?? null;
  const command = await verifyByCommand(fleet);
  const oldTokens = await Promise.all(fleet.oldTokens.map(token => tryToken(server, token)));
  events.close();
  const remains = await stopFleet(fleet);
  return [
    ...judgeSubmits(lines, statuses),
    ...judgeAnswers(lines),
    ...jobs.violations,
    ...judgeFollowing(journals.follow.lines(), logOf),
    ...judgeEvents(received, statuses),
    ...judgeAudit(audit, received.events),
    ...command,
    ...judgeRemains({ ...remains, workers, oldTokens, exits: journals.exits.lines() }),
  ];
}

/** Waits until all jobs have ended. Returns without an error at the limit and at the end of the run. */
async function waitUntilAllEnded({ server, ended }: Fleet, limitMs: number): Promise<void> {
  const deadline = machineNow() + limitMs;
  while (machineNow() < deadline && !ended.aborted) {
    const list = await readStatuses(server).catch(() => null);
    if (list !== null && [...list.statuses.values()].every(status => finalStatuses.has(status))) return;
    await pauseFor(pollMs, ended);
  }
}

/** Checks all jobs. Checks jobs with violations again until no violation is left or the time is up. */
async function judgeJobs(
  fleet: Fleet,
  plan: ChaosPlan,
  limitMs: number,
): Promise<{
  readonly violations: readonly Violation[];
  readonly evidence: ReadonlyMap<string, JobEvidence>;
}> {
  const deadline = machineNow() + limitMs;
  const evidence = new Map<string, JobEvidence>();
  let violatingJobs = [...(await readStatuses(fleet.server)).statuses.keys()];
  for (;;) {
    const violations = new Map<string, readonly Violation[]>();
    const toCase = createCaseReader(fleet, plan);
    for (const id of violatingJobs) {
      const jobEvidence = await readJob(fleet.server, id);
      const jobCase = jobEvidence === null ? null : toCase(jobEvidence);
      if (jobEvidence !== null) evidence.set(id, jobEvidence);
      violations.set(id, jobCase === null ? [] : judgeJob(jobCase));
    }
    violatingJobs = violatingJobs.filter(id => violations.get(id)?.length !== 0);
    if (violatingJobs.length === 0 || machineNow() > deadline || fleet.ended.aborted)
      return { violations: violatingJobs.flatMap(id => violations.get(id) ?? []), evidence };
    await pauseFor(pollMs, fleet.ended);
  }
}

/**
 * Returns a function that adds the data of the journals to the API's evidence about a job. The function returns null when nothing
 * shows which submission created the job: its response was lost, and no trainer started.
 */
function createCaseReader({ journals }: Fleet, plan: ChaosPlan): (evidence: JobEvidence) => JobCase | null {
  const runs = Map.groupBy(runsIn(journals.trainers.lines()), ({ job }) => job);
  const cancelled = new Set<string>();
  /** The number of each job in the plan, by job id. */
  const numbers = new Map<string, number>();
  for (const line of journals.client.lines()) {
    if (line.kind === 'cancel') cancelled.add(line.id);
    if (line.kind === 'answer' && line.id !== null) numbers.set(line.id, line.n);
  }
  const killed = new Set<number>();
  for (const { note } of journals.faults.lines()) {
    const [, pid] = /^killed (\d+)/.exec(note ?? '') ?? [];
    if (pid !== undefined) killed.add(Number(pid));
  }
  return evidence => {
    const { id } = evidence.job;
    const jobRuns = runs.get(id) ?? [];
    const start = jobRuns.flatMap(({ lines }) => lines).find(line => line.kind === 'start');
    const planned = plan.jobs[numbers.get(id) ?? start?.n ?? -1];
    if (planned === undefined) return null;
    return { evidence, planned, runs: jobRuns, isCancelled: cancelled.has(id), killed };
  };
}

/** Runs `trainyard audit verify` as a separate program. */
async function verifyByCommand({ server, folder }: Fleet): Promise<readonly Violation[]> {
  const program = startProgram(
    [process.execPath, join(root, 'main/cli.ts'), 'audit', 'verify', '--data-dir', server.dataDir],
    { env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder } },
  );
  const { code } = await program.exited;
  if (code === 0) return [];
  const what = `the command ended with ${code}: ${program.lines.join(' ')}`;
  return [{ rule: 'the audit trail verifies', what }];
}

/** Maximum time for an agent to exit. */
const exitMs = 20_000;

/** Stops the fleet in an orderly way, and records which processes and resources remain. */
async function stopFleet(fleet: Fleet) {
  const { server, rigs, folder } = fleet;
  const lateAgents = await Promise.all(
    rigs.map(async rig => ((await rig.close(exitMs)) ? [] : [`the agent of ${rig.name} did not exit`])),
  );
  const otherPids = (): readonly number[] => processesOf(folder).filter(pid => !server.isOwn(pid));
  await eventually('the end of all other processes', () => otherPids().length === 0, 5_000).catch(() => {});
  const orphans = otherPids().map(pid => `process ${pid}: ${argvOf(pid)}`);
  const resources = await waitForClosedConnections(server);
  await fleet.end('SIGTERM');
  return {
    processes: [...lateAgents.flat(), ...orphans],
    descriptors: { before: server.baseline.descriptors.length, after: resources.descriptors },
    memoryGrowth: resources.memory - server.baseline.memory,
  };
}
