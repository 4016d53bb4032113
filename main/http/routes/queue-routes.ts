import type { QueryOf, ReplyOf } from '../../../protocol/call.ts';
import { isWaiting, type JobView } from '../../../protocol/job.ts';
import { type JobSearch, parseSearch } from '../../../protocol/job-search.ts';
import { accept, type Outcome } from '../../../protocol/problem.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usageApi } from '../../../protocol/usage-api.ts';
import { timelineApi } from '../../../protocol/timeline-api.ts';
import { type DryRun, type Orchestrator, type Submitted, nameOf } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import { keepPrivate } from './config-routes.ts';
import { keyOf } from './idempotency.ts';
import { cursorOf, positionOf } from './job-cursor.ts';
import { ownLimits } from '../auth/own-view.ts';
import type { Router } from './route.ts';
import { onlyUserOf } from '../auth/auth.ts';

export function mountQueueRoutes(router: Router, orchestrator: Orchestrator): void {
  // Mounted first, because later routes would treat the names of these calls as job ids.
  mountWholeQueue(router, orchestrator);
  mountJobReads(router, orchestrator);
  mountList(router, orchestrator);
  router.answer(queueApi.submit, async ({ body: { idempotency_key: inBody, ...body }, caller, request }) => {
    const key = keyOf(inBody, request, body);
    if (!key.ok) return key;
    if (body.dry_run) {
      const tried = await orchestrator.jobs.dryRun(body, actorOf(caller, request));
      return tried.ok ? accept(dryRunReply(tried.value)) : tried;
    }
    const outcome = await orchestrator.jobs.submit(body, actorOf(caller, request), key.value);
    return outcome.ok ? accept(submittedReply(outcome.value)) : outcome;
  });
  router.answer(queueApi.retry, async ({ params, caller, request }) => {
    const outcome = await orchestrator.jobs.retry(params.id, actorOf(caller, request));
    return outcome.ok ? accept(submittedReply(outcome.value)) : outcome;
  });
  router.answer(queueApi.get, ({ params, caller }) => orchestrator.jobs.get(params.id, onlyUserOf(caller)));
  router.answer(queueApi.config, ({ params, request }) => {
    const payload = orchestrator.jobs.config(params.id);
    if (!payload.ok) return payload;
    const { configName, config, dataloader, files } = payload.value;
    keepPrivate(request);
    return accept({ job_id: params.id, config_name: configName, config, dataloader, files: { ...files } });
  });
  router.answer(queueApi.explain, ({ params }) => orchestrator.jobs.explain(params.id));
  router.answer(queueApi.remove, async ({ params, caller, request }) => {
    const outcome = await orchestrator.jobs.remove(params.id, actorOf(caller, request));
    return outcome.ok ? accept({ success: true as const, job_id: outcome.value }) : outcome;
  });
  router.answer(queueApi.cancel, async ({ params, caller, request }) =>
    withSuccess(await orchestrator.jobs.cancel(params.id, actorOf(caller, request))),
  );
  router.answer(queueApi.ask, async ({ params, body, caller, request }) => {
    const action = await orchestrator.jobs.requestAction(params.id, body.what, actorOf(caller, request));
    if (!action.ok) return action;
    return accept({ ...action.value.job, success: true, duplicate: action.value.duplicate });
  });
  router.answer(queueApi.release, async ({ params, caller, request }) =>
    withSuccess(await orchestrator.jobs.release(params.id, actorOf(caller, request))),
  );
  router.answer(queueApi.setPriority, async ({ params, body, caller, request }) =>
    withSuccess(await orchestrator.jobs.setPriority(params.id, body.priority, actorOf(caller, request))),
  );
  router.answer(queueApi.moveToTop, async ({ params, caller, request }) =>
    withSuccess(await orchestrator.jobs.moveToTop(params.id, actorOf(caller, request))),
  );
  router.answer(queueApi.move, async ({ params, body: { before, after }, caller, request }) => {
    const to =
      before === undefined
        ? { id: after ?? params.id, side: 'after' as const }
        : { id: before, side: 'before' as const };
    return withSuccess(await orchestrator.jobs.move(params.id, to, actorOf(caller, request)));
  });
  router.answer(queueApi.approve, async ({ params, caller, request }) =>
    withSuccess(await orchestrator.jobs.approve(params.id, actorOf(caller, request))),
  );
  router.answer(queueApi.reject, async ({ params, query, caller, request }) =>
    withSuccess(await orchestrator.jobs.reject(params.id, query.reason ?? null, actorOf(caller, request))),
  );
}

function mountList(router: Router, orchestrator: Orchestrator): void {
  router.answer(queueApi.list, ({ query, caller }) => {
    const { status, user = null, worker_id, blocked, sort, order, limit, offset, include_completed } = query;
    const after = query.cursor === undefined ? accept(null) : positionOf(query.cursor, sort);
    if (!after.ok) return after;
    const filter = {
      statuses: status ?? [],
      user: userForFilter(user, onlyUserOf(caller)),
      workerId: worker_id ?? null,
      search: searchOf(query),
      blocked: blocked ?? false,
      sort,
      isDescending: order === 'desc',
      after: after.value,
      includeFinal: include_completed,
      limit,
      offset,
    };
    const { entries, next } = orchestrator.jobs.list(filter);
    const { total_pending, total_running } = orchestrator.queue.view();
    return accept({
      entries: [...entries],
      total_pending,
      total_running,
      next_cursor: next === null ? null : cursorOf(next, sort),
      as_of_seq: orchestrator.lifecycle.lastSeq(),
      ...(query.counts && { counts: orchestrator.jobs.count(filter) }),
    });
  });
}

/** Parses the search text, and adds the query parameters `tag` and `group` to its filters. */
function searchOf({ q = '', tag, group }: QueryOf<typeof queueApi.list>): JobSearch {
  const search = parseSearch(q);
  return {
    ...search,
    tags: [...search.tags, ...(tag === undefined ? [] : [tag.toLowerCase()])],
    groups: group === undefined ? search.groups : [group.toLowerCase()],
  };
}

/**
 * Returns the user for the filter. A caller who may not see other users' jobs gets an empty list for another user, because no
 * user has an empty name.
 */
function userForFilter(requested: string | null, only: string | null): string | null {
  if (only === null || requested === only) return requested;
  return requested === null ? only : '';
}

function mountWholeQueue(router: Router, orchestrator: Orchestrator): void {
  router.answer(queueApi.status, ({ caller }) =>
    accept(ownLimits(orchestrator.queue.view(), onlyUserOf(caller))),
  );
  router.answer(queueApi.stats, ({ caller }) => accept(statsReply(orchestrator, onlyUserOf(caller))));
  router.answer(queueApi.line, ({ caller }) => {
    const only = onlyUserOf(caller);
    const pendingIds = orchestrator.queue.order();
    const as_of_seq = orchestrator.lifecycle.lastSeq();
    if (only === null) return accept({ job_ids: [...pendingIds], as_of_seq });
    const jobs = pendingIds
      .map((id, index) => ({ id, position: index + 1 }))
      .filter(({ id }) => orchestrator.jobs.ownerOf(id) === only);
    return accept({ job_ids: jobs.map(job => job.id), places: jobs.map(job => job.position), as_of_seq });
  });
  router.answer(timelineApi.read, ({ query: { from, to, worker_id, job_id }, caller }) => {
    const timeline = orchestrator.queue.timeline({
      from: from === undefined ? null : Date.parse(from),
      to: to === undefined ? null : Date.parse(to),
      user: onlyUserOf(caller),
      workerId: worker_id ?? null,
      jobId: job_id ?? null,
    });
    if (!timeline.ok) return timeline;
    return accept({ ...timeline.value, as_of_seq: orchestrator.lifecycle.lastSeq() });
  });
  router.answer(usageApi.days, ({ query }) => {
    const { days, currency } = orchestrator.queue.usage(query.days);
    return accept({ days: [...days], currency });
  });
  router.answer(queueApi.me, ({ caller, request }) => {
    const user = nameOf(actorOf(caller, request));
    const { entries, nextPosition } = orchestrator.queue.jobsOf(user);
    const waiting = entries.filter(({ status }) => isWaiting(status));
    const pendingJobs = waiting.filter(({ status }) => status === 'pending');
    const runningJobs = entries.filter(({ status }) => !isWaiting(status));
    return accept({
      user,
      pending: waiting.length,
      running: runningJobs.length,
      user_max_concurrent: orchestrator.queue.concurrency().user_max_concurrent,
      next_position: nextPosition,
      entries,
      pending_count: pendingJobs.length,
      running_count: runningJobs.length,
      blocked_count: waiting.length - pendingJobs.length,
      best_position: nextPosition,
      pending_jobs: pendingJobs,
      running_jobs: runningJobs,
    });
  });
  router.answer(queueApi.concurrency, ({ caller }) =>
    accept(ownLimits(orchestrator.queue.concurrency(), onlyUserOf(caller))),
  );
  router.answer(queueApi.limit, async ({ body, caller, request }) =>
    accept(await orchestrator.queue.limit(body, actorOf(caller, request))),
  );
  router.answer(queueApi.pause, async ({ body, caller, request }) =>
    accept(await orchestrator.queue.pause(body.note ?? null, actorOf(caller, request))),
  );
  router.answer(queueApi.resume, async ({ caller, request }) =>
    accept(await orchestrator.queue.resume(actorOf(caller, request))),
  );
  router.answer(queueApi.process, async () =>
    accept({ success: true as const, dispatched: await orchestrator.queue.process() }),
  );
  router.answer(queueApi.cleanup, async ({ query, caller, request }) =>
    accept({
      success: true as const,
      days: query.days,
      deleted: await orchestrator.queue.cleanUp(query.days, actorOf(caller, request)),
    }),
  );
  router.answer(queueApi.position, ({ params }) => {
    const outcome = orchestrator.queue.position(params.id);
    if (!outcome.ok) return outcome;
    const { status, position, pending } = outcome.value;
    return accept({ job_id: params.id, status, position, total_pending: pending });
  });
}

/** Mounts the calls that read facts about many jobs. */
function mountJobReads(router: Router, orchestrator: Orchestrator): void {
  router.answer(queueApi.waiting, ({ caller }) => accept(waitingReply(orchestrator, onlyUserOf(caller))));
  router.answer(queueApi.configValues, ({ query: { jobs, keys = null }, caller, request }) => {
    keepPrivate(request);
    const result = orchestrator.queue.configValues({ jobs, keys, only: onlyUserOf(caller) });
    return accept({ values: result.values, keys: [...result.keys] });
  });
}

const withSuccess = (outcome: Outcome<JobView>): Outcome<JobView & { readonly success: true }> =>
  outcome.ok ? accept({ ...outcome.value, success: true }) : outcome;

export const dryRunReply = (tried: DryRun): ReplyOf<typeof queueApi.submit> => ({
  success: true,
  dry_run: true,
  job_id: null,
  status: tried.status,
  allocated_worker_id: tried.workerId,
  allocated_gpus: tried.gpus && [...tried.gpus],
  queue_position: tried.position,
  reason: tried.reason,
  explanation: tried.explanation,
  warnings: [...tried.warnings],
  needs: {
    trainer: tried.needs.trainer,
    gpu_count: tried.needs.gpuCount,
    files: [...tried.needs.files],
    data: [...tried.needs.data],
  },
  earlier: tried.earlier,
  checks_keys: tried.checksKeys,
});

export const submittedReply = (submitted: Submitted): ReplyOf<typeof queueApi.retry> =>
  submitted.status === 'rejected'
    ? { ...unplaced, success: false, status: 'rejected', reason: submitted.reason }
    : {
        success: true,
        job_id: submitted.jobId,
        idempotent_hit: submitted.isRepeat,
        status: submitted.status,
        allocated_worker_id: submitted.workerId,
        allocated_gpus: submitted.gpus && [...submitted.gpus],
        queue_position: submitted.position,
        reason: submitted.reason,
        warnings: [...submitted.warnings],
      };

const unplaced = { job_id: null, allocated_worker_id: null, allocated_gpus: null, queue_position: null };

function waitingReply(orchestrator: Orchestrator, only: string | null): ReplyOf<typeof queueApi.waiting> {
  const as_of_seq = orchestrator.lifecycle.lastSeq();
  const { groups, ungrouped } = orchestrator.queue.waiting(only);
  return {
    groups: groups.map(({ reason, wait, jobs, needs, workers, nextFreeMs }) => ({
      reason,
      wait,
      count: jobs.length,
      job_ids: [...jobs],
      needs: needs && {
        gpu_count: needs.gpuCount,
        num_nodes: needs.nodes ?? 1,
        gpu_vram_gb: needs.vramGb,
        accelerator: needs.accelerator,
        worker_labels: needs.labels,
        target: needs.target,
      },
      workers,
      next_free_s: nextFreeMs === null ? null : Math.round(nextFreeMs / 1_000),
    })),
    ungrouped,
    as_of_seq,
  };
}

function statsReply(orchestrator: Orchestrator, only: string | null): ReplyOf<typeof queueApi.stats> {
  const queue = ownLimits(orchestrator.queue.view(), only);
  const figures = orchestrator.queue.stats(only);
  const { byStatus, byUser, ended, waitS, runS, gpuHours, unsatisfiable, waitingForOffline } = figures;
  return {
    ...queue,
    queue_depth: queue.total_pending,
    running: queue.total_running,
    by_status: byStatus,
    by_user: byUser,
    avg_wait_seconds: waitS,
    avg_run_seconds: runS,
    ended_24h: ended,
    gpu_hours_24h: gpuHours,
    unsatisfiable: unsatisfiable.map(({ first, count }) => ({ job_id: first, count })),
    waiting_for_offline: waitingForOffline.map(({ worker, workerCount, firstJob, count }) => ({
      worker_id: worker.id,
      worker_name: worker.name,
      worker_count: workerCount,
      job_id: firstJob,
      count,
    })),
    ...(only === null ? orchestrator.queue.localAndWorkers() : { local: null, workers: null }),
  };
}
