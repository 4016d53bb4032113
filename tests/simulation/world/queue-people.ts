import type { Concurrency } from '../../../protocol/queue.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Actor } from '../../../main/orchestrator/ports/index.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import { everyJob } from '../../support/every-job.ts';
import type { JobAct, QueueAct } from '../plan/plan.ts';
import type { WireAnswer } from './wire.ts';

type OrchestratorCall = (orchestrator: Orchestrator) => Promise<Outcome<unknown>>;

/** Makes a call on behalf of the users, and returns its answer. `what`: the description of the call in the trace. */
type MakeCall = (what: string, act: OrchestratorCall) => Promise<WireAnswer>;

interface QueuePeopleDeps {
  /** Repeats the call until the server answers. */
  readonly repeatUntilAnswered: MakeCall;
  readonly callOnce: MakeCall;
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * Number of times that `openQueue` removes all blockers. Some users retry a job minutes after the last fault, and the retry may
 * need approval.
 */
const rounds = 15;
const roundMs = 30_000;

/** Wraps the result of a call as an outcome, for calls that the orchestrator never refuses. */
const answered = async (answer: Promise<unknown>): Promise<Outcome<unknown>> => ({
  ok: true,
  value: await answer,
});

type Limits = Pick<Concurrency, 'max_concurrent' | 'user_max_concurrent' | 'team_max_concurrent'>;

const none: Limits = { max_concurrent: null, user_max_concurrent: null, team_max_concurrent: null };

/**
 * The acts of users who manage the queue. Users repeat failed acts, except a retry, because a repetition could create a second
 * job.
 */
export function createQueuePeople({ repeatUntilAnswered, callOnce, sleep }: QueuePeopleDeps, by: Actor) {
  const limit = (limits: Limits): Promise<WireAnswer> =>
    repeatUntilAnswered(`limits ${JSON.stringify(limits)}`, orchestrator =>
      answered(orchestrator.queue.limit(limits, by)),
    );
  const resume = (): Promise<WireAnswer> =>
    repeatUntilAnswered('resume', orchestrator => answered(orchestrator.queue.resume(by)));

  return {
    async onQueue(act: QueueAct): Promise<void> {
      switch (act.kind) {
        case 'pause':
          await repeatUntilAnswered('pause', orchestrator =>
            answered(orchestrator.queue.pause('power outage', by)),
          );
          return;
        case 'resume':
          await resume();
          return;
        case 'limit':
          await limit({
            max_concurrent: act.all,
            user_max_concurrent: act.perUser,
            team_max_concurrent: act.perTeam,
          });
          return;
        case 'clean up':
          await repeatUntilAnswered('clean up', orchestrator => answered(orchestrator.queue.cleanUp(0, by)));
      }
    },

    async onJob(act: JobAct, id: JobId): Promise<void> {
      const what = `${act.kind} ${id}`;
      switch (act.kind) {
        case 'cancel':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.cancel(id, by));
          return;
        case 'release':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.release(id, by));
          return;
        case 'approve':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.approve(id, by));
          return;
        case 'reject':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.reject(id, 'too expensive', by));
          return;
        case 'priority':
          await repeatUntilAnswered(what, orchestrator =>
            orchestrator.jobs.setPriority(id, act.priority, by),
          );
          return;
        case 'move to top':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.moveToTop(id, by));
          return;
        case 'remove':
          await repeatUntilAnswered(what, orchestrator => orchestrator.jobs.remove(id, by));
          return;
        case 'retry':
          await callOnce(what, orchestrator => orchestrator.jobs.retry(id, by));
      }
    },

    /**
     * Removes all blockers that could keep a job pending forever. Repeats this for minutes, because late requests can add
     * blockers.
     */
    async openQueue(): Promise<void> {
      for (let round = 0; round < rounds; round += 1) {
        await openOnce();
        await sleep(roundMs);
      }
    },
  };

  /** Removes all current blockers. */
  async function openOnce(): Promise<void> {
    await resume();
    await limit(none);
    const blocked: JobId[] = [];
    await repeatUntilAnswered('list blocked jobs', orchestrator => {
      const { entries } = orchestrator.jobs.list({ ...everyJob, blocked: true, limit: 100, offset: 0 });
      blocked.splice(0, blocked.length, ...entries.map(({ id }) => id));
      return answered(Promise.resolve(entries.length));
    });
    for (const id of blocked)
      await repeatUntilAnswered(`approve ${id}`, orchestrator => orchestrator.jobs.approve(id, by));
    await cancelOrphans();
  }

  /** Cancels jobs whose parent failed or was cancelled. */
  async function cancelOrphans(): Promise<void> {
    const orphans: JobId[] = [];
    await repeatUntilAnswered('list orphaned jobs', orchestrator => {
      const { entries } = orchestrator.jobs.list({ ...everyJob, includeFinal: false, limit: 100, offset: 0 });
      const orphanEntries = entries.filter(
        ({ wait }) =>
          wait?.code === 'after' &&
          (wait.params['state'] === 'failed' || wait.params['state'] === 'cancelled'),
      );
      orphans.splice(0, orphans.length, ...orphanEntries.map(({ id }) => id));
      return answered(Promise.resolve(orphanEntries.length));
    });
    for (const id of orphans)
      await repeatUntilAnswered(`cancel ${id}`, orchestrator => orchestrator.jobs.cancel(id, by));
  }
}
