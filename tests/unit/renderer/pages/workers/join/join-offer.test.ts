import { expect, test } from 'vitest';
import type { Client } from '../../../../../../protocol/client.ts';
import { WorkerId } from '../../../../../../protocol/ids.ts';
import { requestJoinOffer, offerStatus } from '../../../../../../renderer/pages/workers/join/join-offer.ts';
import { unreachable } from '../../../../agent/builders.ts';

const id = WorkerId.parse('w_1');

test('computes the expiry of an offer with the local clock, one hour after the request', async () => {
  let now = 1_000;
  const inputs: unknown[] = [];
  const client = {
    async call(_row: unknown, input: unknown) {
      inputs.push(input);
      now += 5_000;
      return { ok: true, value: { join_token: 'tj_1', expires_at: '2040-01-01T00:00:00Z' } };
    },
  } as unknown as Client;
  expect(await requestJoinOffer(client, id, () => now)).toEqual({
    ok: true,
    value: { token: 'tj_1', until: 3_601_000 },
  });
  expect(inputs).toEqual([{ params: { id }, body: { expires_in_s: 3_600 } }]);
});

test('returns the failure when the server makes no offer', async () => {
  const failure = { ok: false, failure: unreachable() } as const;
  const client = { call: async () => failure } as unknown as Client;
  expect(await requestJoinOffer(client, id)).toEqual(failure);
});

test.each([
  [null, 0, 'missing'],
  [{ token: 'tj_1', until: 100 }, 99, 'open'],
  [{ token: 'tj_1', until: 100 }, 100, 'over'],
] as const)('returns for the offer %j at the time %d the status %s', (offer, now, status) => {
  expect(offerStatus(offer, now)).toBe(status);
});
