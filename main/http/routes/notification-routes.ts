import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { accept } from '../../../protocol/problem.ts';
import { pushApi } from '../../../protocol/push-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { principalBehind } from '../auth/auth.ts';
import { actorOf } from './admin-routes.ts';
import type { Router } from './route.ts';

export function mountNotificationRoutes(
  router: Router,
  { notifications }: Pick<Orchestrator, 'notifications'>,
): void {
  router.answer(notificationsApi.listChannels, () => accept({ channels: [...notifications.listChannels()] }));
  router.answer(notificationsApi.createChannel, ({ body, caller, request }) =>
    notifications.createChannel(body, actorOf(caller, request)),
  );
  router.answer(notificationsApi.updateChannel, ({ params, body, caller, request }) =>
    notifications.updateChannel(params.id, body, actorOf(caller, request)),
  );
  router.answer(notificationsApi.removeChannel, ({ params, caller, request }) =>
    notifications.removeChannel(params.id, actorOf(caller, request)),
  );
  router.answer(notificationsApi.testChannel, ({ params, caller, request }) =>
    notifications.testChannel(params.id, actorOf(caller, request)),
  );
  router.answer(notificationsApi.listRules, () => accept({ rules: [...notifications.listRules()] }));
  router.answer(notificationsApi.createRule, ({ body, caller, request }) =>
    notifications.createRule(body, actorOf(caller, request)),
  );
  router.answer(notificationsApi.updateRule, ({ params, body, caller, request }) =>
    notifications.updateRule(params.id, body, actorOf(caller, request)),
  );
  router.answer(notificationsApi.removeRule, ({ params, caller, request }) =>
    notifications.removeRule(params.id, actorOf(caller, request)),
  );
  router.answer(pushApi.get, async ({ caller }) =>
    accept(await notifications.getPush(principalBehind(caller))),
  );
  router.answer(pushApi.subscribe, ({ body, caller, request }) =>
    notifications.subscribe(body, principalBehind(caller), actorOf(caller, request)),
  );
  router.answer(pushApi.unsubscribe, ({ params, caller, request }) =>
    notifications.unsubscribe(params.id, principalBehind(caller), actorOf(caller, request)),
  );
  router.answer(pushApi.test, ({ params, caller, request }) =>
    notifications.testPush(params.id, principalBehind(caller), actorOf(caller, request)),
  );
  router.answer(notificationsApi.listDeliveries, ({ query }) =>
    accept({ deliveries: [...notifications.listDeliveries(query.state ?? null, query.limit)] }),
  );
}
