import { poolsApi } from '../../../protocol/pools-api.ts';
import { accept } from '../../../protocol/problem.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import type { Router } from './route.ts';

export function mountPoolRoutes(router: Router, { pools }: Pick<Orchestrator, 'pools'>): void {
  router.answer(poolsApi.list, () => accept({ pools: [...pools.list()] }));
  router.answer(poolsApi.create, ({ body, caller, request }) => pools.create(body, actorOf(caller, request)));
  router.answer(poolsApi.get, ({ params }) => pools.get(params.id));
  router.answer(poolsApi.update, ({ params, body, caller, request }) =>
    pools.update(params.id, body, actorOf(caller, request)),
  );
  router.answer(poolsApi.remove, ({ params, caller, request }) =>
    pools.remove(params.id, actorOf(caller, request)),
  );
  router.answer(poolsApi.pause, ({ params, body, caller, request }) => {
    const pause = { reason: body.reason, endLaunches: body.end_launches };
    return pools.pause(params.id, pause, actorOf(caller, request));
  });
  router.answer(poolsApi.resume, ({ params, caller, request }) =>
    pools.resume(params.id, actorOf(caller, request)),
  );
  router.answer(poolsApi.check, ({ params }) => pools.check(params.id));
  router.answer(poolsApi.test, ({ params, caller, request }) =>
    pools.test(params.id, actorOf(caller, request)),
  );
  router.answer(poolsApi.launches, ({ params, query }) => {
    const launches = pools.launches(params.id, query.limit);
    return launches.ok ? accept({ launches: [...launches.value] }) : launches;
  });
  router.answer(poolsApi.launch, ({ params }) => pools.launch(params.id));
  router.answer(poolsApi.endLaunch, ({ params, caller, request }) =>
    pools.endLaunch(params.id, actorOf(caller, request)),
  );
}
