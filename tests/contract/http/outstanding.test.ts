import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob, upload } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let job: JobOffer;
beforeEach(async () => {
  server = await startTestServer();
  rig = await openRig(server);
  job = await startJob(server, rig);
});
afterEach(() => server.close());

const codeOf = async (response: Response): Promise<readonly [number, unknown]> => [
  response.status,
  ((await response.json()) as { readonly code: unknown }).code,
];

describe('outstanding files of a completed job', () => {
  const uploadFile = (): Promise<Response> => upload(server.url, job.token, 'a.txt', { body: 'late' });
  const reportOutstanding = (body: object, token = job.token): Promise<Response> =>
    fetch(`${server.url}/api/cloud/outstanding`, {
      method: 'PUT',
      headers: { 'x-upload-token': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const readOutstanding = async () =>
    valueOf(await server.admin.call(queueApi.get, { params: { id: job.jobId } })).outstanding;

  test('shows outstanding files until the worker reports that none are left', async () => {
    expect(await codeOf(await reportOutstanding({ files: 0, bytes: 0 }))).toEqual([409, 'job_not_final']);
    await rig.report(job, 'completed', { uploads_pending: true });
    expect(await readOutstanding()).toMatchObject({ files: null, bytes: null, reason: null });
    expect((await reportOutstanding({ files: 2, bytes: 7, reason: 'x'.repeat(600) })).status).toBe(200);
    expect(await readOutstanding()).toMatchObject({ files: 2, bytes: 7, reason: 'x'.repeat(500) });
    await server.watch.until('the job with outstanding files', event =>
      event.kind === 'job' && event.job_id === job.jobId && event.type === 'job.outstanding' ? event : null,
    );
    expect((await uploadFile()).status).toBe(200);
    expect((await reportOutstanding({ files: 0, bytes: 0 })).status).toBe(200);
    expect(await readOutstanding()).toBeNull();
    expect(await codeOf(await uploadFile())).toEqual([401, 'uploads_closed']);
    const { entries } = valueOf(await server.admin.call(auditApi.list, { query: { limit: 1 } }));
    expect(entries.map(entry => entry.event_type)).toEqual(['artifact.uploads_done']);
  });

  test('refuses every upload after a user gives up the outstanding files', async () => {
    const giveUp = () => server.admin.call(artifactsApi.giveUp, { params: { id: job.jobId } });
    expect(await giveUp()).toMatchObject({ failure: { problem: { code: 'nothing_outstanding' } } });
    await rig.report(job, 'completed', { uploads_pending: true });
    await reportOutstanding({ files: 2, bytes: 7 });
    expect(valueOf(await giveUp())).toEqual({ success: true, job_id: job.jobId });
    expect(await readOutstanding()).toBeNull();
    expect(await codeOf(await uploadFile())).toEqual([401, 'uploads_closed']);
    expect(await codeOf(await reportOutstanding({ files: 1, bytes: 1 }))).toEqual([401, 'uploads_closed']);
    expect(await giveUp()).toMatchObject({ failure: { problem: { code: 'nothing_outstanding' } } });
    valueOf(await server.admin.call(queueApi.remove, { params: { id: job.jobId } }));
    expect(await giveUp()).toMatchObject({ failure: { problem: { code: 'job_not_found' } } });
  });
});
