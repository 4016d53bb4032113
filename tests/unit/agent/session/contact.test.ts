import { expect, it } from 'vitest';
import { type ApiClient, noteContacts } from '../../../../agent/connection/api-client.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import type { StatusReportBody } from '../../../../protocol/worker-api.ts';
import { attemptId, jobId, unreachable } from '../builders.ts';

type Call = (api: ApiClient) => Promise<unknown>;
const report =
  (status: StatusReportBody['status']): Call =>
  api =>
    api.report(jobId('j1'), attemptId('a1'), { status });
const heartbeat: Call = api => api.beat({});

function createFixture(isAnswered: boolean) {
  const fixture = { now: 1_000, contacts: [] as number[] };
  // Each response arrives after five seconds.
  const answer = async (): Promise<never> => {
    fixture.now += 5_000;
    return (isAnswered ? { ok: true, value: {} } : { ok: false, failure: unreachable() }) as never;
  };
  const api: ApiClient = {
    register: answer,
    beat: answer,
    report: answer,
    uploadPoints: answer,
    disconnect: answer,
  };
  return Object.assign(fixture, {
    api: noteContacts(
      api,
      () => fixture.now,
      sentAt => fixture.contacts.push(sentAt),
    ),
  });
}

it.each<[string, Call, readonly number[]]>([
  ['a registration', api => api.register({}), [1_000]],
  ['a heartbeat', heartbeat, [1_000]],
  ['a claim', report('starting'), [1_000]],
  // Apart from claims, reports do not count as contact. Disconnect calls do not count either.
  ['a progress report', report('running'), []],
  ['a final report', report('completed'), []],
  ['a disconnect call', api => api.disconnect(WorkerId.parse('w_1')), []],
])(
  'records the send time of an answered call only if the call counts as contact: %s',
  async (_title, call, contacts) => {
    const fixture = createFixture(true);
    await call(fixture.api);
    expect(fixture.contacts).toEqual(contacts);
  },
);

it.each<[string, Call]>([
  ['a registration', api => api.register({})],
  ['a heartbeat', heartbeat],
  ['a claim', report('starting')],
])('records no contact for an unanswered call: %s', async (_title, call) => {
  const fixture = createFixture(false);
  await call(fixture.api);
  expect(fixture.contacts).toEqual([]);
});
