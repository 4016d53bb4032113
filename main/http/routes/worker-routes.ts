import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { workerApi } from '../../../protocol/worker-api.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import { workerUpdatesApi } from '../../../protocol/worker-updates-api.ts';
import type { Orchestrator, Uploader } from '../../orchestrator/index.ts';
import type { Caller } from '../auth/auth.ts';
import { addressOf } from '../auth/sender.ts';
import type { Router } from './route.ts';
import type { StreamRegistry } from '../listener/stream-registry.ts';

interface WorkerDeps {
  readonly orchestrator: Orchestrator;
  readonly streams: Pick<StreamRegistry, 'open'>;
  /** Returns the attempt for which this upload token was issued; null for a forged token. */
  readonly uploaderOf: (token: string) => Uploader | null;
  /** In milliseconds. A connection without a request is closed after this time. */
  readonly idleMs: number;
}

/**
 * Mounts the calls of workers. The token identifies the worker. If the request also contains a worker id, it must be the same.
 */
export function mountWorkerRoutes(
  router: Router,
  { orchestrator, streams, uploaderOf, idleMs }: WorkerDeps,
): void {
  router.answer(workerApi.join, ({ caller, body, request }) =>
    caller.kind === 'joiner'
      ? orchestrator.workers.join(caller.hash, body.token_sha256, addressOf(request))
      : refuse('token_missing', 'Send the join token in the header X-Worker-Token'),
  );
  router.answer(workerApi.register, ({ caller, body, request }) =>
    forWorker(caller, null, id => orchestrator.workers.register(id, body, addressOf(request))),
  );
  router.answer(workerApi.heartbeat, ({ caller, body, request }) =>
    forWorker(caller, body.worker_id, id => {
      // The connection would be closed before the next heartbeat anyway. Closing it now frees memory on both sides.
      if (orchestrator.workers.silenceOf(id) > idleMs && request.res) request.res.shouldKeepAlive = false;
      return orchestrator.workers.heartbeat(id, body);
    }),
  );
  router.answer(workerApi.disconnect, ({ caller, body }) =>
    forWorker(caller, body.worker_id, id => orchestrator.workers.disconnect(id)),
  );
  // Always false, because an ephemeral worker runs only one job, as SimpleTuner's guide says.
  router.answer(workerApi.queue, ({ caller, query }) =>
    forWorker(caller, query.worker_id, () => accept({ has_jobs: false })),
  );
  router.answer(workerApi.reportStatus, async ({ caller, params, body }) => {
    const outcome = await forWorker(caller, null, id => orchestrator.jobs.report(id, params.id, body));
    return outcome.ok
      ? accept({ success: true as const, ...(outcome.value.duplicate && { duplicate: true }) })
      : outcome;
  });
  router.answer(workerApi.renewUploadToken, ({ caller, body }) =>
    forWorker(caller, null, id => orchestrator.files.renewUploadToken(id, uploaderOf(body.upload_token))),
  );
  router.answer(workerApi.reportTrainerKeys, ({ caller, body }) =>
    forWorker(caller, null, id => orchestrator.workers.reportTrainerKeys(id, body)),
  );
  router.answer(workerUpdatesApi.report, ({ caller, body }) =>
    forWorker(caller, null, id => orchestrator.workers.reportUpdate(id, body)),
  );
  router.stream(workerApi.stream, ({ caller, query }, response) =>
    withOwnId(caller, query.worker_id, id => {
      const stream = streams.open(response, {
        pingMs: orchestrator.lifecycle.times.pingMs,
        ping: { type: 'ping' },
      });
      response.on('close', orchestrator.workers.openStream(id, stream));
      return accept(undefined);
    }),
  );
}

async function forWorker<T>(
  caller: Caller,
  claimed: WorkerId | null | undefined,
  act: (id: WorkerId) => Outcome<T> | Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  return withOwnId(caller, claimed, act);
}

function withOwnId<R>(
  caller: Caller,
  claimed: WorkerId | null | undefined,
  act: (id: WorkerId) => R,
): R | ReturnType<typeof refuse> {
  if (caller.kind !== 'worker')
    return refuse('token_missing', 'Send the worker token in the header X-Worker-Token');
  if (claimed && claimed !== caller.id) {
    return refuse('not_your_worker', `The token is not that of worker ${claimed}`);
  }
  return act(caller.id);
}
