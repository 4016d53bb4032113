import { workersApi } from '../../../../protocol/admin-api.ts';
import type { CallResult, Client } from '../../../../protocol/client.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';

/** A join token. `until` is its expiry in milliseconds since 1970, by this computer's clock. */
export interface JoinOffer {
  readonly token: string;
  readonly until: number;
}

/**
 * Lifetime of a join token. It is long enough to walk to a rig, and short enough to limit the risk if the command stays
 * in a chat.
 */
const lifetimeS = 3_600;

/**
 * Requests a join token. Counts the expiry from the time before the call, by this computer's clock, because the
 * server's clock may differ. So the panel never shows an expired token as valid.
 */
export async function requestJoinOffer(
  client: Client,
  id: WorkerId,
  now: () => number = Date.now,
): Promise<
  | { readonly ok: true; readonly value: JoinOffer }
  | Extract<CallResult<typeof workersApi.createJoinToken>, { ok: false }>
> {
  const until = now() + lifetimeS * 1000;
  const answer = await client.call(workersApi.createJoinToken, {
    params: { id },
    body: { expires_in_s: lifetimeS },
  });
  return answer.ok ? { ok: true, value: { token: answer.value.join_token, until } } : answer;
}

/** `open`: the token is valid. `over`: the token has expired. `missing`: the token could not be created. */
export type OfferStatus = 'open' | 'over' | 'missing';

export const offerStatus = (offer: JoinOffer | null, now: number): OfferStatus => {
  if (offer === null) return 'missing';
  return now < offer.until ? 'open' : 'over';
};
