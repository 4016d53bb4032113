import { NewWorker } from '../../../protocol/admin-api.ts';
import { permissions } from '../../../protocol/call.ts';
import { SubmitRequest } from '../../../protocol/queue-api.ts';
import { NewToken } from '../../../protocol/tokens-api.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Actor } from '../../../main/orchestrator/ports/index.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { Act, JobAct, SubmitTerms, JobPlan, QueueAct, RigPlan, Teams } from '../plan/plan.ts';
import type { Link } from './link.ts';
import { createQueuePeople } from './queue-people.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Rig } from './rig.ts';
import type { WireAnswer, WireRequest } from './wire.ts';

/** The users who own rigs and jobs. They share one network link, and repeat failed calls where that is safe. */
export interface People {
  /** Creates tokens for the users who have a team. */
  enrol(teams: Teams): Promise<void>;
  submit(job: JobPlan): Promise<void>;
  carryOut(act: Act): Promise<void>;
  /** Removes pauses, limits and other blockers that could keep a job pending forever. */
  openQueue(): Promise<void>;
  /** Creates a worker, and repeats failed calls. Throws when all calls fail. */
  addWorker(plan: RigPlan): Promise<{ readonly workerId: WorkerId; readonly token: string }>;
  /** Returns the id of the job with this index in the plan; null until its submission succeeded. */
  jobOf(index: number): JobId | null;
}

interface PeopleDeps {
  readonly process: SimProcess;
  readonly link: Link;
  readonly random: Random;
  readonly rigOf: (index: number) => Rig | null;
}

const actorNamed = (name: SubmitTerms['user']): Actor => ({ type: 'admin', id: name, address: null });
const ada = actorNamed('ada');
const callTimeoutMs = 10_000;
/** Maximum number of tries per call. */
const maxTries = 100;

const requestOf = (
  { request, stopsWithoutContact, submitTerms: terms }: JobPlan,
  parent: JobId | null,
): SubmitRequest =>
  SubmitRequest.parse({
    ...request,
    ...(parent !== null && { after: [parent], after_on: terms.after?.on }),
    on_lost_contact: stopsWithoutContact ? 'stop' : 'continue',
    requires_approval: terms.needsApproval,
    no_wait: terms.isNow,
  });

/** Returns the description with which `submittedIn` recognizes the submission of a job. */
const submissionOf = ({ index }: JobPlan): string => `submit job ${index}`;

/** Returns the planned job that this call submits; null for any other call. */
export const submittedIn = (request: WireRequest, jobs: readonly JobPlan[]): JobPlan | null =>
  request.kind === 'person' ? (jobs.find(job => submissionOf(job) === request.what) ?? null) : null;

type OrchestratorCall = (orchestrator: Orchestrator) => Promise<Outcome<unknown>>;

export function createPeople({ process, link, random, rigOf }: PeopleDeps): People {
  const jobs = new Map<number, JobId>();
  const owners = new Map<JobId, SubmitTerms['user']>();
  /** Returns the planned parent of a job; null when there is none, or when the user has not submitted it. */
  const parentOf = ({ submitTerms: { after, user } }: JobPlan): JobId | null => {
    const id = after === null ? undefined : jobs.get(after.job);
    return id !== undefined && owners.get(id) === user ? id : null;
  };

  /** Makes a call on behalf of the users. `what`: the description of the call in the trace. */
  const callOnce = (what: string, act: OrchestratorCall): Promise<WireAnswer> =>
    link.call(process, { kind: 'person', what, act }, callTimeoutMs);
  const sleep = (ms: number): Promise<void> =>
    new Promise(resolve => {
      process.clock.after(ms, resolve);
    });
  const repeatUntilAnswered = async (what: string, act: OrchestratorCall): Promise<WireAnswer> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await callOnce(what, act);
      const isAnswered = answer.kind === 'answer' && answer.status < 500;
      if (isAnswered || tries === maxTries) return answer;
      await sleep(random.int(3_000, 15_000));
    }
  };
  const rotate = async (rig: Rig, mode: 'now' | 'after_job'): Promise<void> => {
    const answer = await repeatUntilAnswered(`rotate the token of ${rig.workerId} ${mode}`, orchestrator =>
      orchestrator.workers.rotateToken(rig.workerId, mode, ada),
    );
    const token = fieldOf(answer, 'token');
    if (token === null) return;
    await sleep(random.int(1_000, 40_000));
    rig.giveToken(token);
  };
  const queue = createQueuePeople({ repeatUntilAnswered, callOnce, sleep }, ada);
  const onJob = async (act: JobAct): Promise<void> => {
    const id = jobs.get(act.job);
    if (id !== undefined) await queue.onJob(act, id);
  };
  const onRig = async (act: Exclude<Act, JobAct | QueueAct>): Promise<void> => {
    const rig = rigOf(act.rig);
    if (rig === null) return;
    const id = rig.workerId;
    const what = `${act.kind} ${id}`;
    switch (act.kind) {
      case 'drain': {
        const drain = { reason: 'maintenance', deadlineMs: act.deadlineMs };
        await repeatUntilAnswered(what, orchestrator => orchestrator.workers.drain(id, drain, ada));
        return;
      }
      case 'undrain':
        await repeatUntilAnswered(what, orchestrator => orchestrator.workers.undrain(id, ada));
        return;
      case 'unquarantine':
        await repeatUntilAnswered(what, orchestrator => orchestrator.workers.unquarantine(id, ada));
        return;
      case 'delete':
        await repeatUntilAnswered(what, orchestrator => orchestrator.workers.remove(id, ada));
        return;
      case 'rotate':
        await rotate(rig, act.mode);
    }
  };

  return {
    async enrol(teams) {
      for (const [name, team] of Object.entries(teams)) {
        if (team === null) continue;
        const newToken = NewToken.parse({ name, team, permissions: ['queue.submit'] });
        await repeatUntilAnswered(`create the token of ${name}`, orchestrator =>
          orchestrator.access.createToken(newToken, permissions, ada),
        );
      }
    },
    async submit(job) {
      const { user, hasKey } = job.submitTerms;
      const key = { key: `job ${job.index}`, fingerprint: 'the same' };
      // Without a key, submit only once: a repetition after a lost answer could create a second job.
      const request = requestOf(job, parentOf(job));
      const answer = await (hasKey ? repeatUntilAnswered : callOnce)(submissionOf(job), orchestrator =>
        orchestrator.jobs.submit(request, actorNamed(user), hasKey ? key : null),
      );
      const id = fieldOf(answer, 'jobId');
      if (id !== null) {
        jobs.set(job.index, id as JobId);
        owners.set(id as JobId, user);
      }
    },
    carryOut(act) {
      if ('job' in act) return onJob(act);
      return 'rig' in act ? onRig(act) : queue.onQueue(act);
    },
    openQueue: () => queue.openQueue(),
    async addWorker(plan) {
      const newWorker = NewWorker.parse({
        name: plan.name,
        labels: plan.protocol === 1 ? { zone: 'west' } : {},
        worker_type: plan.persistent ? 'persistent' : 'ephemeral',
      });
      const answer = await repeatUntilAnswered(`create ${plan.name}`, async orchestrator => ({
        ok: true,
        value: await orchestrator.workers.create(newWorker, ada),
      }));
      const workerId = fieldOf(answer, 'workerId');
      const token = fieldOf(answer, 'token');
      if (workerId === null || token === null)
        throw new Error(`the worker ${plan.name} could not be created`);
      return { workerId: workerId as WorkerId, token };
    },
    jobOf: index => jobs.get(index) ?? null,
  };
}

/** Returns a text field of a successful answer; null for other answers, or when the field is missing. */
function fieldOf(answer: WireAnswer, name: string): string | null {
  if (answer.kind === 'failed' || answer.status !== 200) return null;
  const fields: Readonly<Record<string, unknown>> = { ...(answer.body as object) };
  return typeof fields[name] === 'string' ? fields[name] : null;
}
