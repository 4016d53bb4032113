/**
 * Checks the invariants that hold after any fault (docs/internals/faults.md, section 1). The evidence comes from outside the
 * product: the API, the event stream, the database of the stopped server, logs, the trainers' record, and the process table.
 * explain-property.test.ts checks I11.
 */
import { jobUpdates } from '../../protocol/events.ts';
import type { Answer } from './admin-calls.ts';
import { type Stored, transition } from './database-evidence.ts';
import { historyViolations } from './invariants-history.ts';
import type { EventLine } from './stream-record.ts';
import { overlapsOf, type TrainerRun } from './trainer-record.ts';

export interface Evidence {
  /** Ids of jobs whose submission the server answered with 200. */
  readonly accepted: readonly string[];
  /** The status of each job in the API, after the fleet had time to recover from all faults. */
  readonly statuses: ReadonlyMap<string, string>;
  readonly events: readonly EventLine[];
  /** The problems that the stream record found. */
  readonly streamFaults: readonly string[];
  /** The number of connections of the stream record. */
  readonly connections: number;
  /** The number of the last event, as the API reports it. */
  readonly lastSeq: number;
  /** The answer to `GET /api/audit/verify`. */
  readonly audit: Pick<Answer, 'status' | 'body'>;
  readonly stored: Stored;
  readonly runs: readonly TrainerRun[];
  /** Jobs that may have had two live trainers at the same time, because their worker was unreachable. */
  readonly mayOverlap: ReadonlySet<string>;
  /** Trainers and their children that are still alive although all jobs have ended. */
  readonly leftTrainers: readonly number[];
  /** Texts that must not contain secrets, by description: logs, database, events, arguments. */
  readonly texts: ReadonlyMap<string, string>;
  /** Texts that programs other than the orchestrator and its agents can read. */
  readonly openTexts: ReadonlyMap<string, string>;
  /** The secrets, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** A marker in the config of every job. Only the job's trainer may read the config. */
  readonly canary: string;
  /** Calls with revoked tokens, and the statuses of their responses. */
  readonly oldTokens: readonly { readonly call: string; readonly status: number }[];
  readonly baseline: Resources;
  /** Resources after all clients have left. */
  readonly atEnd: Resources;
}

/** Resources of the server process: the targets of its open descriptors, and its memory in bytes. */
export interface Resources {
  readonly descriptors: readonly string[];
  readonly memory: number;
}

/** Maximum growth of the server's memory in bytes. Heaps do not shrink immediately after a burst. */
const memoryAllowance = 256 * 1_048_576;

export interface Judgement {
  /** The numbers of the invariants that hold. Leaves out invariants that had nothing to check. */
  readonly held: readonly string[];
  /** One line for each violation, starting with the number of the invariant. */
  readonly broken: readonly string[];
}

/** Checks all invariants. An invariant without anything to check is in neither list. */
export function judge(evidence: Evidence): Judgement {
  const broken = violations(evidence);
  const isBroken = (id: string): boolean => broken.some(line => line.startsWith(`${id} `));
  const judged = Object.entries(subjects).filter(([, count]) => count(evidence) > 0);
  return { held: judged.map(([id]) => id).filter(id => !isBroken(id)), broken };
}

/** The number of items that each invariant checks. */
const subjects: Readonly<Record<string, (evidence: Evidence) => number>> = {
  I1: ({ accepted }) => accepted.length,
  I2: ({ stored }) => stored.attempts.length,
  I3: ({ stored }) => [...stored.jobs.values()].filter(isFinal).length,
  I4: ({ stored }) => stored.attempts.length,
  I5: ({ stored }) => stored.transitions.length,
  I6: ({ connections }) => connections - 1,
  I7: ({ secrets }) => secrets.size,
  I8: ({ events }) => events.filter(({ type }) => type === 'worker.draining').length,
  I9: ({ oldTokens }) => oldTokens.length,
  I10: ({ baseline }) => baseline.descriptors.length,
  I12: ({ runs }) => runs.length,
};

function violations(evidence: Evidence): readonly string[] {
  return [
    ...submitsSurvive(evidence),
    ...historyViolations(evidence.events),
    ...oneLiveAttempt(evidence.stored),
    ...eventsMatchStore(evidence),
    ...auditVerifies(evidence.audit),
    ...auditHasAllTransitions(evidence),
    ...streamIsWhole(evidence),
    ...secretsAreKept(evidence),
    ...oldTokensAreDead(evidence),
    ...resourcesReturn(evidence),
    ...runsDoNotOverlap(evidence),
  ];
}

const isFinal = (status: string | undefined): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

function submitsSurvive({ accepted, statuses, stored }: Evidence): readonly string[] {
  return accepted.flatMap(id => {
    const status = statuses.get(id);
    if (status === undefined) return [`I1 ${id} was accepted, but does not exist`];
    if (!isFinal(status)) return [`I1 ${id} is still ${status}`];
    const storedStatus = stored.jobs.get(id);
    return storedStatus === status
      ? []
      : [`I1 ${id} was reported as ${status} and is stored as ${storedStatus}`];
  });
}

const isUpdate = (type: string): boolean => jobUpdates.some(update => update === type);

const requiredIndexesAndTriggers = [
  'one_live_attempt_per_job',
  'one_live_attempt_per_worker',
  'ended_jobs_stay',
];

function oneLiveAttempt({ attempts, indexesAndTriggers, integrity }: Stored): readonly string[] {
  const liveAttempts = attempts.filter(({ ended_at }) => ended_at === null);
  const findSeveralLive = (idField: 'job_id' | 'worker_id'): readonly string[] =>
    [...Map.groupBy(liveAttempts, attempt => attempt[idField])]
      .filter(([, withSameId]) => withSameId.length > 1)
      .map(([id]) => `I2 ${id} has several live attempts in the database`);
  return [
    ...(integrity === 'ok' ? [] : [`I2 the database is damaged: ${integrity}`]),
    ...requiredIndexesAndTriggers
      .filter(name => !indexesAndTriggers.includes(name))
      .map(name => `I2 the schema lacks ${name}`),
    ...findSeveralLive('job_id'),
    ...findSeveralLive('worker_id'),
  ];
}

/** Checks that the last event of each job matches the database, and that an attempt completed at most once. */
function eventsMatchStore({ events, stored }: Evidence): readonly string[] {
  const lastEvents = new Map<string, string>();
  for (const { kind, type, job_id: id } of events) {
    if (kind === 'job' && type !== 'job.late_result' && type !== 'job.node_ended' && !isUpdate(type) && id)
      lastEvents.set(id, type);
  }
  const wrong = [...stored.jobs]
    .filter(([id, status]) => isFinal(status) && lastEvents.get(id) !== `job.${status}`)
    .map(([id, status]) => `I3 ${id} is stored as ${status}, and its last event is ${lastEvents.get(id)}`);
  const completed = stored.attempts.filter(({ outcome }) => outcome === 'completed');
  const severalResults = [...Map.groupBy(completed, ({ job_id }) => job_id)]
    .filter(([, ofOneJob]) => ofOneJob.length > 1)
    .map(([id]) => `I4 ${id} has several attempts with an accepted result`);
  return [...wrong, ...severalResults];
}

function auditVerifies({ status, body }: Evidence['audit']): readonly string[] {
  const valid = typeof body === 'object' && body !== null && 'valid' in body && body.valid === true;
  return status === 200 && valid
    ? []
    : [`I5 the audit trail does not verify: status ${status}, ${JSON.stringify(body)}`];
}

/** Maximum number of audit rows of one kind for each worker within ten minutes. The audit trail only counts further calls. */
const maxRepeats = 30;
/** Matches changes by users, which the audit trail always records. Only calls of workers are limited. */
const isOfUser = (type: string): boolean =>
  /^worker\.(?:created|updated|draining|undrained|unquarantined|token_rotated|deleted)$/.test(type);

/** Checks that each transition has one audit row, in the order of the events. Ignores rows after the last event. */
function auditHasAllTransitions({ events, stored }: Evidence): readonly string[] {
  const counts = new Map<string, number>();
  const isRepeated = ({ kind, type, worker_id: worker }: Evidence['events'][number]): boolean => {
    const key = `${type} ${worker}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return kind === 'worker' && !isOfUser(type) && count > maxRepeats;
  };
  const reported = events
    .filter(({ kind, type }) => kind !== 'reset' && (kind !== 'job' || !isUpdate(type)))
    .filter(event => !isRepeated(event))
    .map(({ type, job_id: job, worker_id: worker, attempt }) =>
      transition(type, job ?? worker ?? '', attempt),
    );
  const firstDifference = reported.findIndex((text, n) => text !== stored.transitions[n]);
  if (firstDifference < 0) return [];
  const [fromEvents, fromAudit] = [reported[firstDifference], stored.transitions[firstDifference]];
  return [`I5 transition ${firstDifference + 1} is reported as ${fromEvents}, audited as ${fromAudit}`];
}

function streamIsWhole({ events, streamFaults, lastSeq }: Evidence): readonly string[] {
  const lastSeen = events.at(-1)?.seq ?? 0;
  const missing = lastSeen < lastSeq ? [`I6 the stream ended with event ${lastSeen} of ${lastSeq}`] : [];
  return [...streamFaults.map(fault => `I6 ${fault}`), ...missing];
}

function secretsAreKept({ texts, openTexts, canary, secrets, runs }: Evidence): readonly string[] {
  // Searching megabytes of text for a thousand tokens is slow. The first three characters rule out most texts quickly.
  const byBeginning = Map.groupBy(secrets, ([, secret]) => secret.slice(0, 3));
  const exposed = [...texts].flatMap(([where, text]) =>
    [...byBeginning]
      .filter(([beginning]) => text.includes(beginning))
      .flatMap(([, some]) => some.filter(([, secret]) => text.includes(secret)))
      .map(([name]) => `I7 ${where} shows ${name}`),
  );
  const leaked = runs.flatMap(({ job, lines }) =>
    lines.flatMap(({ leaks = [] }) => leaks.map(name => `I7 the trainer of ${job} has a token in ${name}`)),
  );
  const configs = [...openTexts]
    .filter(([, text]) => text.includes(canary))
    .map(([where]) => `I7 ${where} shows the content of a job's config`);
  return [...exposed, ...leaked, ...configs];
}

const oldTokensAreDead = ({ oldTokens }: Evidence): readonly string[] =>
  oldTokens
    .filter(({ status }) => status !== 401)
    .map(({ call, status }) => `I9 ${call} with a rotated token returned ${status}`);

function resourcesReturn({ baseline, atEnd }: Evidence): readonly string[] {
  const extra = atEnd.descriptors.length - baseline.descriptors.length;
  const grown = atEnd.memory - baseline.memory;
  return [
    ...(extra > 0 ? [`I10 ${extra} descriptors are left open: ${atEnd.descriptors.join(', ')}`] : []),
    ...(grown > memoryAllowance ? [`I10 memory grew by ${Math.round(grown / 1_048_576)} MiB`] : []),
  ];
}

function runsDoNotOverlap({ runs, mayOverlap, leftTrainers }: Evidence): readonly string[] {
  const overlaps = overlapsOf(runs)
    .filter(([{ job }]) => !mayOverlap.has(job))
    .map(
      ([a, b]) =>
        `I12 two trainers of ${a.job} ran at the same time: ${a.pid} until ${a.lastAt}, ${b.pid} from ${b.startedAt}`,
    );
  return [...overlaps, ...leftTrainers.map(pid => `I12 process ${pid} of a trainer is still alive`)];
}
