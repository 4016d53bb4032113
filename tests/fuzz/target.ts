import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { everyCall } from '../support/every-call.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { type FuzzParts, fuzz, type FuzzResult } from './fuzz.ts';

// What it sets is the machine that the fuzzer runs on: its sockets, and a program that it starts.
const rows = everyCall.filter(row => row !== settingsApi.change);

/**
 * A server with workers and jobs, and secrets in each place where one may stand, fuzzed. Afterwards it must live, its audit
 * trail must verify, and its log must know no secret and nothing that was not expected.
 */
export async function fuzzServer(
  order: Pick<FuzzParts, 'seed' | 'requests' | 'onProgress'>,
): Promise<FuzzResult> {
  const server = await startTestServer({ failureLimit: { note: () => 'count' } });
  try {
    const canary = 'canary-5f1d0c';
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const other = await server.createWorker({ name: 'rig-2' });
    const job = await server.submit({ config: { hub_token: canary }, config_name: 'kept' });
    const scoped = valueOf(
      await server.admin.call(tokensApi.create, {
        body: { name: 'ada', permissions: ['queue.view', 'queue.submit'] },
      }),
    );
    const joining = valueOf(
      await server.admin.call(workersApi.createJoinToken, { params: { id: other.id }, body: {} }),
    );
    const secrets = [server.adminToken, token, other.token, scoped.token, joining.join_token];
    const result = await fuzz({
      ...order,
      server,
      rows,
      ids: [id, other.id, job, scoped.id],
      secrets,
      callers: [
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${scoped.token}` },
        { 'x-worker-token': token },
        { 'x-worker-token': other.token },
        { 'x-worker-token': joining.join_token },
        { authorization: 'Bearer wrong' },
        {},
      ],
    });
    return { ...result, faults: [...result.faults, ...(await afterwards(server, [...secrets, canary]))] };
  } finally {
    await server.close();
  }
}

async function afterwards(server: TestServer, secrets: readonly string[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const alive = await fetch(`${server.url}/health/ready`).catch(() => null);
  if (alive?.status !== 200) faults.push('it is not ready any more');
  const verdict = valueOf(await server.admin.call(auditApi.verify, {}));
  if (!verdict.valid) faults.push(`the audit trail is broken: ${JSON.stringify(verdict.first_bad)}`);
  const log = server.log.join('');
  for (const secret of secrets) if (log.includes(secret)) faults.push('a secret stands in the log');
  const unexpected = server.log.find(line => line.includes(' error '));
  if (unexpected !== undefined) faults.push(`in the log: ${unexpected}`);
  return faults;
}
