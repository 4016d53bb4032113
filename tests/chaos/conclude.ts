import { waitForClosedConnections } from '../faults/server-process.ts';
import { eventually } from '../support/notices.ts';
import { argvOf, processesOf } from '../support/own-processes.ts';
import { root, startProgram } from '../support/processes.ts';
import { join } from 'node:path';
import { type JobEvidence, readAudit, readJob, readStatuses, readWorkers, tryToken } from './evidence.ts';
import { type Fleet, untilIdle } from './fleet.ts';
import { machineNow, runsIn } from './journal.ts';
import { judgeAudit, judgeEvents } from './judge/history.ts';
import { judgeJob } from './judge/job.ts';
import { judgeFollowing } from './judge/logs.ts';
import { judgeRemains } from './judge/remains.ts';
import { judgeAnswers, judgeSubmits } from './judge/submits.ts';
import { finals, type JobCase, type Violation } from './judge/violation.ts';
import { pauseFor } from './pause.ts';
import type { ChaosPlan } from './plan.ts';

/** Maximum time for the fleet to recover after the last fault. */
export interface Patience {
  readonly jobsMs: number;
  readonly restMs: number;
}

const pollMs = 1_000;

/** Checks the fleet repeatedly until no violation is left or the time is up. Returns the remaining violations. */
export async function conclude(
  fleet: Fleet,
  plan: ChaosPlan,
  patience: Patience,
): Promise<readonly Violation[]> {
  await untilAllEnd(fleet, patience.jobsMs);
  const jobs = await judgeJobs(fleet, plan, patience.restMs);
  const { server, events, journals } = fleet;
  await untilIdle(server, fleet.ended, patience.restMs);
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

async function untilAllEnd({ server, ended }: Fleet, limitMs: number): Promise<void> {
  const until = machineNow() + limitMs;
  while (machineNow() < until && !ended.aborted) {
    const list = await readStatuses(server).catch(() => null);
    if (list !== null && [...list.statuses.values()].every(status => finals.has(status))) return;
    await pauseFor(pollMs, ended);
  }
}

/** Checks the jobs. Checks a job again as long as it has violations and time is left. */
async function judgeJobs(
  fleet: Fleet,
  plan: ChaosPlan,
  limitMs: number,
): Promise<{
  readonly violations: readonly Violation[];
  readonly evidence: ReadonlyMap<string, JobEvidence>;
}> {
  const until = machineNow() + limitMs;
  const evidence = new Map<string, JobEvidence>();
  let open = [...(await readStatuses(fleet.server)).statuses.keys()];
  for (;;) {
    const found = new Map<string, readonly Violation[]>();
    const toCase = createCaseReader(fleet, plan);
    for (const id of open) {
      const read = await readJob(fleet.server, id);
      const jobCase = read === null ? null : toCase(read);
      if (read !== null) evidence.set(id, read);
      found.set(id, jobCase === null ? [] : judgeJob(jobCase));
    }
    open = open.filter(id => found.get(id)?.length !== 0);
    if (open.length === 0 || machineNow() > until || fleet.ended.aborted)
      return { violations: open.flatMap(id => found.get(id) ?? []), evidence };
    await pauseFor(pollMs, fleet.ended);
  }
}

/**
 * Returns a function that combines what the API and the journals know about a job. The function returns null when it is
 * unknown which submission created the job, because its answer was lost and no trainer started.
 */
function createCaseReader({ journals }: Fleet, plan: ChaosPlan): (evidence: JobEvidence) => JobCase | null {
  const runs = Map.groupBy(runsIn(journals.trainers.lines()), ({ job }) => job);
  const client = journals.client.lines();
  const cancelled = new Set(client.flatMap(line => (line.kind === 'cancel' ? [line.id] : [])));
  const numbers = new Map(
    client.flatMap(line => (line.kind === 'answer' && line.id !== null ? [[line.id, line.n] as const] : [])),
  );
  const killed = new Set(
    journals.faults
      .lines()
      .flatMap(({ note }) => (note?.startsWith('killed ') ? [Number(note.slice(7))] : [])),
  );
  return evidence => {
    const own = runs.get(evidence.job.id) ?? [];
    const started = own.flatMap(({ lines }) => lines).find(line => line.kind === 'start');
    const planned = plan.jobs[numbers.get(evidence.job.id) ?? started?.n ?? -1];
    if (planned === undefined) return null;
    return { evidence, planned, runs: own, isCancelled: cancelled.has(evidence.job.id), killed };
  };
}

/** Runs `trainyard audit verify` as a separate program. */
async function verifyByCommand({ server, folder }: Fleet): Promise<readonly Violation[]> {
  const program = startProgram(
    [process.execPath, join(root, 'main/cli.ts'), 'audit', 'verify', '--data-dir', server.dataDir],
    { env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder } },
  );
  const { code } = await program.exited;
  return code === 0
    ? []
    : [
        {
          rule: 'the audit trail verifies',
          what: `the command ended with ${code}: ${program.lines.join(' ')}`,
        },
      ];
}

const leaveMs = 20_000;

/** Stops the fleet in an orderly way, and records which processes and resources remain. */
async function stopFleet(fleet: Fleet) {
  const { server, rigs, folder } = fleet;
  const left = await Promise.all(
    rigs.map(async rig => ((await rig.close(leaveMs)) ? [] : [`the agent of ${rig.name} did not exit`])),
  );
  const others = (): readonly number[] => processesOf(folder).filter(pid => !server.isOwn(pid));
  await eventually('the end of all other processes', () => others().length === 0, 5_000).catch(() => {});
  const orphans = others().map(pid => `process ${pid}: ${argvOf(pid)}`);
  const calm = await waitForClosedConnections(server);
  await fleet.end('SIGTERM');
  return {
    processes: [...left.flat(), ...orphans],
    descriptors: { before: server.baseline.descriptors.length, after: calm.descriptors },
    memoryGrowth: calm.memory - server.baseline.memory,
  };
}
