import type { ReplyOf } from '../../../protocol/call.ts';
import { accept, type Outcome } from '../../../protocol/problem.ts';
import { settingsApi, type SettingsChange } from '../../../protocol/settings-api.ts';
import type { Actor } from '../../orchestrator/ports/index.ts';
import { actorOf, type JoinAddress } from './admin-routes.ts';
import { isFromHere } from '../auth/client-address.ts';
import type { Router } from './route.ts';

type View = ReplyOf<typeof settingsApi.get>;

/** The caller who changes settings, and whether the request comes from the orchestrator's own machine. */
export interface Asker {
  readonly actor: Actor;
  readonly isHere: boolean;
}

/** The orchestrator's settings, as the routes use them. */
export interface SettingsHandler {
  view(isHere: boolean): View;
  change(wanted: SettingsChange, by: Asker): Promise<Outcome<View>>;
  readonly joinAddress: JoinAddress;
}

export function mountSettingsRoutes(router: Router, settings: SettingsHandler): void {
  router.answer(settingsApi.get, ({ request }) => accept(settings.view(isFromHere(request))));
  router.answer(settingsApi.change, ({ body, caller, request }) =>
    settings.change(body, { actor: actorOf(caller, request), isHere: isFromHere(request) }),
  );
}
