import { accept } from '../../../protocol/problem.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import { principalBehind } from '../auth/auth.ts';
import type { Router } from './route.ts';

/** Tokens of people and scripts. `recheck` ends the streams of clients that have lost the right to read them. */
export function mountTokenRoutes(router: Router, orchestrator: Orchestrator, recheck: () => void): void {
  router.answer(tokensApi.list, () => accept({ tokens: [...orchestrator.access.listTokens()] }));
  router.answer(tokensApi.create, ({ body, caller, request }) =>
    orchestrator.access.createToken(body, principalBehind(caller).permissions, actorOf(caller, request)),
  );
  router.answer(tokensApi.revoke, async ({ params, caller, request }) => {
    const outcome = await orchestrator.access.revokeToken(params.id, actorOf(caller, request));
    if (!outcome.ok) return outcome;
    recheck();
    return accept({ success: true as const, token_id: outcome.value });
  });
}
