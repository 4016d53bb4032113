import { setTimeout as pause } from 'node:timers/promises';
import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { everyCall } from '../support/every-call.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { type FuzzDeps, fuzz, type FuzzResult } from './fuzz.ts';

// Settings that no request may change, because a change could make the server open other sockets or start programs.
const fixedBy = {
  host: '--host',
  'local-worker': '--no-local-worker',
  'local-worker-gpus': '--local-worker-gpus',
  'local-worker-trainer': '--local-worker-trainer',
  'local-worker-work-dir': '--local-worker-work-dir',
};

/**
 * Fuzzes a server that has workers, jobs and secrets. Afterwards the server must still be ready, its audit trail must be
 * valid, and its log must contain no secret and no error. Each violation is one of the `faults`.
 */
export async function fuzzServer(
  options: Pick<FuzzDeps, 'seed' | 'requests' | 'onProgress'>,
): Promise<FuzzResult> {
  const server = await startTestServer({ failureLimit: { note: () => 'count' }, config: { fixedBy } });
  try {
    const canary = 'canary-5f1d0c';
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const other = await server.createWorker({ name: 'rig-2' });
    const job = await server.submit({ config: { hub_token: canary }, config_name: 'kept' });
    const limitedToken = valueOf(
      await server.admin.call(tokensApi.create, {
        body: { name: 'ada', permissions: ['queue.view', 'queue.submit'] },
      }),
    );
    const joinTokenView = valueOf(
      await server.admin.call(workersApi.createJoinToken, { params: { id: other.id }, body: {} }),
    );
    server.config('kept', { model_family: 'sdxl' });
    // The fuzzer must not rotate this worker's token, so it does not get the worker's id.
    const respondingWorker = await server.createWorker({ name: 'rig-0' });
    const stream = startRespondingWorker(server.url, respondingWorker);
    const secrets = [
      server.adminToken,
      token,
      other.token,
      respondingWorker.token,
      limitedToken.token,
      joinTokenView.join_token,
    ];
    const result = await fuzz({
      ...options,
      server,
      rows: everyCall,
      runningJob: stream.runningJob,
      ids: [id, other.id, job, limitedToken.id, 'kept', 'j_unknown'],
      secrets,
      // The admin token is listed three times, so that more requests pass the permission check.
      callers: [
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${server.adminToken}` },
        { authorization: `Bearer ${limitedToken.token}` },
        { 'x-worker-token': token },
        { 'x-worker-token': other.token },
        { 'x-worker-token': joinTokenView.join_token },
        { 'x-worker-token': respondingWorker.token },
        { authorization: 'Bearer wrong' },
        {},
      ],
    });
    stream.leave();
    return { ...result, faults: [...result.faults, ...(await checkServer(server, [...secrets, canary]))] };
  } finally {
    await server.close();
  }
}

/** Runs a worker that accepts each offer and reports that the job runs, so that some jobs are not pending. */
function startRespondingWorker(url: string, { id, token }: { readonly id: string; readonly token: string }) {
  const controller = new AbortController();
  let newest: { readonly job: string; readonly token: string } | null = null;
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const acceptOffers = async (): Promise<void> => {
    const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 8 });
    const options = { headers, signal: controller.signal };
    const registered = await fetch(`${url}/api/workers/register`, { ...options, method: 'POST', body });
    // Stop when a request of the fuzzer has rotated the token or deleted the worker.
    if (registered.status === 401) return;
    const stream = await fetch(`${url}/api/workers/stream?worker_id=${id}`, options);
    if (!stream.ok) await pause(100, undefined, { signal: controller.signal });
    for await (const part of stream.body ?? []) {
      const text = Buffer.from(part).toString();
      const [, job] = /"job_submit","job_id":"(\w+)"/.exec(text) ?? [];
      const [, upload = ''] = /"upload_token":"([\w.-]+)"/.exec(text) ?? [];
      if (job === undefined) continue;
      newest = { job, token: upload };
      const report = `${url}/api/workers/job/${job}/status`;
      await fetch(report, { ...options, method: 'POST', body: '{"status":"running"}' });
    }
    // A request of the fuzzer can open another stream of this worker, which ends this one. Then connect again.
    await acceptOffers();
  };
  void acceptOffers().catch(() => undefined);
  return {
    runningJob: () =>
      newest && {
        job: newest.job,
        headers: { 'x-worker-token': token },
        uploads: { 'x-upload-token': newest.token },
      },
    leave: () => controller.abort(),
  };
}

async function checkServer(server: TestServer, secrets: readonly string[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const alive = await fetch(`${server.url}/health/ready`).catch(() => null);
  if (alive?.status !== 200) faults.push('the server is not ready any more');
  const verdict = valueOf(await server.admin.call(auditApi.verify, {}));
  if (!verdict.valid) faults.push(`the audit trail is broken: ${JSON.stringify(verdict.first_bad)}`);
  const log = server.log.join('');
  for (const secret of secrets) if (log.includes(secret)) faults.push('the log contains a secret');
  const unexpected = server.log.find(line => line.includes(' error '));
  if (unexpected !== undefined) faults.push(`the log contains an error: ${unexpected}`);
  return faults;
}
