import { workersApi } from '../../../../protocol/admin-api.ts';
import type { CallResult, Client } from '../../../../protocol/client.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';

/** A join token and its expiry by this machine's clock, in milliseconds since 1970. */
export interface JoinOffer {
  readonly token: string;
  readonly until: number;
}

/** Long enough to walk to a rig, and short enough to limit the risk in a chat history. */
const lifetimeS = 3_600;

/**
 * Requests a join token. The expiry is counted on this machine's clock, which may differ from the server's, and from before the call. A
 * token that is shown as valid is therefore valid.
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

/** Status of a join token. */
export type OfferStatus = 'open' | 'over' | 'missing';

export const offerStatus = (offer: JoinOffer | null, now: number): OfferStatus => {
  if (offer === null) return 'missing';
  return now < offer.until ? 'open' : 'over';
};
