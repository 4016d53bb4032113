import type { ReplyOf } from '../../../protocol/call.ts';
import { accept } from '../../../protocol/problem.ts';
import { runsApi } from '../../../protocol/runs-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { Batch, Orchestrator, Sweep } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import { keyOf } from './idempotency.ts';
import type { Router } from './route.ts';

/** Mounts the calls that submit several jobs and describe runs. */
export function mountRunRoutes(router: Router, { jobs }: Orchestrator): void {
  router.answer(
    queueApi.submitBatch,
    async ({ body: { idempotency_key: inBody, ...body }, caller, request }) => {
      const key = keyOf(inBody, request, body);
      if (!key.ok) return key;
      const by = actorOf(caller, request);
      const outcome = body.dry_run ? await jobs.dryBatch(body, by) : await jobs.batch(body, by, key.value);
      return outcome.ok ? accept(batchReply(outcome.value, body.dry_run)) : outcome;
    },
  );
  router.answer(runsApi.sweep, async ({ body: { idempotency_key: inBody, ...body }, caller, request }) => {
    const key = keyOf(inBody, request, body);
    if (!key.ok) return key;
    const by = actorOf(caller, request);
    const outcome = body.dry_run ? await jobs.drySweep(body, by) : await jobs.sweep(body, by, key.value);
    return outcome.ok ? accept(sweepReply(outcome.value, body.dry_run)) : outcome;
  });
  router.answer(runsApi.edit, async ({ params: { id }, body, caller, request }) => {
    const outcome = await jobs.edit(id, body, actorOf(caller, request));
    return outcome.ok ? accept({ ...outcome.value, success: true, notes: jobs.notesOf(id) }) : outcome;
  });
}

const batchReply = (
  { jobs, warnings, isRepeat }: Batch,
  isDryRun: boolean,
): ReplyOf<typeof queueApi.submitBatch> => ({
  success: true,
  dry_run: isDryRun,
  idempotent_hit: isRepeat,
  jobs: jobs.map(({ id, configName, name }) => ({ job_id: id, config_name: configName, name })),
  warnings: [...warnings],
});

/** The jobs of a sweep as the API returns them. */
export const sweepReply = (
  { group, jobs, warnings, isRepeat }: Sweep,
  isDryRun: boolean,
): ReplyOf<typeof runsApi.sweep> => ({
  success: true,
  dry_run: isDryRun,
  idempotent_hit: isRepeat,
  group,
  jobs: jobs.map(({ id, name, sweep }) => ({ job_id: id, name, sweep })),
  warnings: [...warnings],
});
