import type { LaunchId } from '../../../protocol/ids.ts';
import { applyLaunchEvent } from '../commands/pools/launches.ts';
import type { Core } from '../core.ts';
import type { MonoMs } from '../model.ts';
import type { ContactOf, Launch, Pool } from '../pool-model.ts';
import type { EngineOf, LaunchAnswer } from '../ports/index.ts';
import type { LaunchEvent } from '../rules/launch-lifecycle.ts';
import { noticeMsOf } from '../rules/pool-rules.ts';
import { maySubmit } from '../views/demand-facts.ts';

/** Time in ms within which a worker must leave after its notice period. After that, the orchestrator ends its machine. */
const leaveMs = 60_000;
/** Minimum time in ms between two calls to end the same launch. */
const endAgainMs = 30_000;
/** Time in ms for which the join token of a launch is valid. */
const maxTokenMs = 7 * 86_400_000;

/** Returns a function that calls engines and notifies workers, according to the stored states of launches. */
export function createLaunchCalls(core: Core, engineOf: EngineOf, contactOf: ContactOf) {
  /** Launches whose order waits for the engine. Any other launch in state `submitting` was ordered before a restart. */
  const submitting = new Set<LaunchId>();
  const notified = new Set<LaunchId>();

  const apply: Apply = (id, event) =>
    core.store
      .write(tx => void applyLaunchEvent(core, tx, id, event))
      // The launch keeps its stored state. The next list of the engine corrects it.
      .catch((cause: unknown) => core.log.error('launch.event_not_stored', { launch_id: id, cause }));
  const endCalls = createEndCalls(core, engineOf, apply);

  /** Sends an order to the engine. Each try gets a new join token, because only hashes of tokens are stored. */
  async function submit({ id, workerId, nodes, gpus, poolId }: Launch): Promise<void> {
    submitting.add(id);
    try {
      const order = await core.store.write(tx => {
        const launch = tx.launch(id);
        const worker = tx.worker(workerId);
        const pool = tx.pool(poolId);
        if (launch?.state !== 'wanted' || worker === null || pool === null) return null;
        // Hours, budget and pauses may have changed since the launch was planned.
        if (!maySubmit(core, tx, pool, contactOf, launch)) return null;
        const { token, hash } = core.ids.joinToken();
        tx.setJoinToken(hash, { workerId, expiresAt: core.clock.wall() + maxTokenMs, usedFor: null });
        applyLaunchEvent(core, tx, id, { type: 'submit' });
        return { pool, token, workerName: worker.name };
      });
      if (order === null) return;
      const { pool } = order;
      const answer = await engineOf(pool).launch({
        launchId: id,
        nodes,
        gpus,
        wallTimeS: pool.settings.wall_time_s,
        noticeS: noticeMsOf(pool) / 1_000,
        workerName: order.workerName,
        joinToken: order.token,
      });
      await apply(id, eventOf(answer));
    } catch (cause) {
      core.log.error('launch.not_submitted', { launch_id: id, cause });
    } finally {
      submitting.delete(id);
    }
  }

  function notify({ id, workerId }: Launch): void {
    const notice = core.launches.noticeFor(workerId, core.time.now());
    if (notice === null || notified.has(id)) return;
    notified.add(id);
    core.connections.send(workerId, { type: 'notice', ...notice });
    core.jobQueue.noteWorker(workerId);
  }

  /** Submits launches in state `wanted`, ends launches in state `ending`, and sends notices to workers that must leave. */
  return function carryOut(): void {
    const open = core.store.openLaunches();
    forgetClosed(open, endCalls.endings, notified);
    for (const pool of core.store.pools()) {
      const launchesOfPool = open.filter(({ poolId }) => poolId === pool.id);
      for (const launch of launchesOfPool) {
        if (launch.state === 'joined' || launch.state === 'ending') notify(launch);
        if (submitting.has(launch.id)) continue;
        if (launch.state === 'wanted' && maySubmit(core, core.store, pool, contactOf, launch))
          void submit(launch);
        if (launch.state === 'submitting') void apply(launch.id, { type: 'unanswered', message: restarted });
      }
      // While an order is unanswered, the engine may not know the launch yet.
      endCalls.end(
        pool,
        launchesOfPool.filter(({ id, state }) => state === 'ending' && !submitting.has(id)),
      );
    }
  };
}

interface Ending {
  /** When the launch was first seen as ending. */
  readonly since: MonoMs;
  /** When the engine was last asked to end the launch; null before the first call. */
  readonly askedAt: MonoMs | null;
}

type Apply = (id: LaunchId, event: LaunchEvent) => Promise<void>;

/** Ends launches in their engine: first asks the worker to leave, later ends its machine. Repeats a call that had no effect. */
function createEndCalls(core: Core, engineOf: EngineOf, apply: Apply) {
  const endings = new Map<LaunchId, Ending>();

  const howToEnd = (pool: Pool, launch: Launch, since: MonoMs): 'ask' | 'now' | null => {
    if (launch.joinedAt === null) return 'now';
    const passedMs = core.clock.mono() - since;
    if (launch.endReason === 'left') return passedMs < leaveMs ? null : 'now';
    if (launch.endAskedAt === null) return 'ask';
    return passedMs < noticeMsOf(pool) + leaveMs ? null : 'now';
  };

  function end(pool: Pool, launches: readonly Launch[]): void {
    const now = core.clock.mono();
    for (const how of ['ask', 'now'] as const) {
      const ids = launches.flatMap(launch => {
        const ending = endings.get(launch.id) ?? { since: now, askedAt: null };
        endings.set(launch.id, ending);
        if (ending.askedAt !== null && now - ending.askedAt < endAgainMs) return [];
        return howToEnd(pool, launch, ending.since) === how ? [launch.id] : [];
      });
      if (ids.length === 0) continue;
      for (const id of ids) endings.set(id, { since: endings.get(id)?.since ?? now, askedAt: now });
      engineOf(pool)
        .end(ids, how)
        .then(() => Promise.all(ids.map(id => apply(id, { type: 'end_asked' }))))
        .catch((cause: unknown) =>
          core.log.warn('launch.not_ended', { pool: pool.name, launch_ids: ids, cause }),
        );
    }
  }

  return { end, endings };
}

const restarted = 'The orchestrator stopped while it waited for the answer of the engine';

/** Removes the entries of launches that are no longer open. */
function forgetClosed(
  open: readonly Launch[],
  ...collections: readonly { keys(): Iterable<LaunchId>; delete(id: LaunchId): boolean }[]
): void {
  const ids = new Set(open.map(({ id }) => id));
  for (const collection of collections)
    for (const id of collection.keys()) if (!ids.has(id)) collection.delete(id);
}

function eventOf(answer: LaunchAnswer): LaunchEvent {
  switch (answer.kind) {
    case 'accepted':
      return { type: 'accept', engineId: answer.engineId };
    case 'rejected':
      return { type: 'refuse', scope: answer.scope, message: answer.message };
    case 'unknown':
      return { type: 'unanswered', message: answer.message };
  }
}
