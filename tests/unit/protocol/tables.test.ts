import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { call, permissions } from '../../../protocol/call.ts';
import { systemApi, workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { workerApi } from '../../../protocol/worker-api.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { UiEvent } from '../../../protocol/events.ts';
import { accept, Problem, problems, refuse } from '../../../protocol/problem.ts';
import { version } from '../../../protocol/version.ts';

test('exports the version of package.json', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ version });
});

describe('tables of calls', () => {
  test('defines no two calls with the same method and path', () => {
    const names = rows.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ':')}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test('defines exactly the listed calls with their permissions', () => {
    const addresses = rows.map(row => {
      const stream = row.stream === undefined ? '' : ', stream';
      return `${row.method} ${row.path} (${row.authority}${stream})`;
    });
    expect(addresses).toEqual([
      'POST /api/join (join)',
      'POST /api/workers/register (worker)',
      'GET /api/workers/stream (worker, stream)',
      'POST /api/workers/heartbeat (worker)',
      'GET /api/workers/queue (worker)',
      'POST /api/workers/job/:id/status (worker)',
      'POST /api/workers/upload-token (worker)',
      'POST /api/workers/trainer-keys (worker)',
      'POST /api/workers/disconnect (worker)',
      'POST /api/workers/job/:id/logs (worker)',
      'GET /agent/manifest.json (open)',
      'GET /agent/SHA256SUMS (open, stream)',
      'GET /agent/install.sh (open, stream)',
      'GET /join (open, stream)',
      'GET /agent/trainyard-worker.mjs (open, stream)',
      'GET /agent/trainyard-worker-linux-x64 (open, stream)',
      'GET /agent/trainyard-worker-linux-arm64 (open, stream)',
      'GET /agent/trainyard-worker-darwin-arm64 (open, stream)',
      'GET /agent/trainyard-worker-win32-x64.exe (open, stream)',
      'GET /api/admin/workers (admin.workers)',
      'POST /api/admin/workers (admin.workers)',
      'GET /api/admin/workers/:id (admin.workers)',
      'DELETE /api/admin/workers/:id (admin.workers)',
      'PATCH /api/admin/workers/:id (admin.workers)',
      'POST /api/admin/workers/:id/drain (admin.workers)',
      'POST /api/admin/workers/:id/undrain (admin.workers)',
      'POST /api/admin/workers/:id/unquarantine (admin.workers)',
      'POST /api/admin/workers/:id/token (admin.workers)',
      'POST /api/admin/workers/:id/join-token (admin.workers)',
      'POST /api/admin/worker-updates (admin.workers)',
      'DELETE /api/admin/workers/:id/update (admin.workers)',
      'POST /api/workers/update (worker)',
      'GET /api/admin/pools (admin.pools)',
      'POST /api/admin/pools (admin.pools)',
      'GET /api/admin/pools/:id (admin.pools)',
      'PUT /api/admin/pools/:id (admin.pools)',
      'DELETE /api/admin/pools/:id (admin.pools)',
      'POST /api/admin/pools/:id/pause (admin.pools)',
      'POST /api/admin/pools/:id/resume (admin.pools)',
      'POST /api/admin/pools/:id/check (admin.pools)',
      'POST /api/admin/pools/:id/test (admin.pools)',
      'GET /api/admin/pools/:id/launches (admin.pools)',
      'GET /api/admin/launches/:id (admin.pools)',
      'POST /api/admin/launches/:id/end (admin.pools)',
      'GET /api/admin/notifications/channels (admin.tokens)',
      'POST /api/admin/notifications/channels (admin.tokens)',
      'PATCH /api/admin/notifications/channels/:id (admin.tokens)',
      'DELETE /api/admin/notifications/channels/:id (admin.tokens)',
      'POST /api/admin/notifications/channels/:id/test (admin.tokens)',
      'GET /api/admin/notifications/rules (admin.tokens)',
      'POST /api/admin/notifications/rules (admin.tokens)',
      'PUT /api/admin/notifications/rules/:id (admin.tokens)',
      'DELETE /api/admin/notifications/rules/:id (admin.tokens)',
      'GET /api/admin/notifications/deliveries (admin.tokens)',
      'GET /api/notifications/push (queue.view)',
      'PUT /api/notifications/push/subscriptions (queue.view)',
      'DELETE /api/notifications/push/subscriptions/:id (queue.view)',
      'POST /api/notifications/push/subscriptions/:id/test (queue.view)',
      'POST /api/queue/submit/batch (queue.submit)',
      'POST /api/queue/submit (queue.submit)',
      'GET /api/queue (queue.view)',
      'GET /api/queue/status (queue.view)',
      'GET /api/queue/stats (queue.view)',
      'GET /api/queue/line (queue.view)',
      'GET /api/queue/waiting (queue.view)',
      'GET /api/queue/config-values (queue.manage)',
      'GET /api/queue/me (queue.view)',
      'GET /api/queue/concurrency (queue.view)',
      'POST /api/queue/concurrency (queue.manage)',
      'POST /api/queue/pause (queue.manage)',
      'POST /api/queue/resume (queue.manage)',
      'POST /api/queue/process (queue.manage)',
      'POST /api/queue/cleanup (queue.manage)',
      'GET /api/queue/position/:id (queue.view)',
      'GET /api/queue/:id (queue.view)',
      'GET /api/queue/:id/config (queue.manage)',
      'GET /api/queue/:id/explain (queue.view)',
      'GET /api/queue/:id/events (queue.view)',
      'DELETE /api/queue/:id (queue.manage)',
      'POST /api/queue/:id/cancel (queue.cancel)',
      'POST /api/queue/:id/ask (queue.cancel)',
      'POST /api/queue/:id/release (queue.cancel)',
      'POST /api/queue/:id/retry (queue.submit)',
      'POST /api/queue/:id/priority (queue.manage)',
      'POST /api/queue/:id/top (queue.manage)',
      'POST /api/queue/:id/move (queue.manage)',
      'POST /api/queue/:id/approve (queue.manage)',
      'POST /api/queue/:id/reject (queue.manage)',
      'POST /api/queue/sweeps (queue.submit)',
      'PATCH /api/queue/:id (queue.submit)',
      'GET /api/templates (queue.submit)',
      'GET /api/templates/:template (queue.submit)',
      'POST /api/templates (queue.manage)',
      'PUT /api/templates/:template (queue.manage)',
      'DELETE /api/templates/:template (queue.manage)',
      'POST /api/templates/:template/submit (queue.submit)',
      'POST /api/templates/:template/sweep (queue.submit)',
      'GET /api/timeline (queue.view)',
      'GET /api/usage (queue.view)',
      'GET /api/queue/:id/logs (queue.view)',
      'GET /api/queue/:id/logs/stream (queue.view, stream)',
      'GET /api/queue/:id/logs/search (queue.view)',
      'GET /api/queue/:id/logs/text (queue.view, stream)',
      'GET /api/queue/:id/artifacts (queue.view)',
      'GET /api/samples (queue.view)',
      'GET /api/queue/:id/checkpoints (queue.view)',
      'GET /api/queue/:id/artifacts/*key (queue.submit, stream)',
      'POST /api/queue/:id/outstanding/give-up (queue.manage)',
      'DELETE /api/queue/:id/artifacts/*key (queue.manage)',
      'PUT /api/cloud/storage/:bucket/*key (upload)',
      'GET /api/cloud/storage/:bucket/*key (upload, stream)',
      'PUT /api/cloud/outstanding (upload)',
      'GET /api/cloud/storage/:bucket (upload)',
      'POST /api/workers/job/:id/metrics (worker)',
      'GET /api/queue/:id/metrics (queue.view)',
      'GET /api/queue/:id/metrics/csv (queue.view, stream)',
      'GET /api/configs (queue.submit)',
      'GET /api/configs/:name (queue.submit)',
      'GET /api/configs/:name/text (queue.submit)',
      'GET /api/configs/:name/dataloader (queue.submit)',
      'PUT /api/configs/:name (queue.manage)',
      'PUT /api/configs/:name/bundle (queue.manage)',
      'DELETE /api/configs/:name (queue.manage)',
      'GET /api/datasets (queue.view)',
      'POST /api/datasets/missing (queue.submit)',
      'GET /api/datasets/contents/:digest (queue.submit)',
      'PUT /api/datasets/contents/:digest (queue.submit)',
      'POST /api/datasets (queue.submit)',
      'POST /api/datasets/:id/pin (queue.submit)',
      'POST /api/datasets/prune (queue.submit)',
      'GET /api/session (open)',
      'POST /api/session (open)',
      'DELETE /api/session (open)',
      'POST /api/session/link (admin.tokens)',
      'GET /api/sessions (admin.tokens)',
      'DELETE /api/sessions/:id (admin.tokens)',
      'DELETE /api/sessions (admin.tokens)',
      'GET /api/settings (admin.workers)',
      'PATCH /api/settings (admin.tokens)',
      'GET /api/tokens (admin.tokens)',
      'POST /api/tokens (admin.tokens)',
      'DELETE /api/tokens/:id (admin.tokens)',
      'GET /api/audit (admin.audit)',
      'GET /api/audit/user/:id (admin.audit)',
      'GET /api/audit/security (admin.audit)',
      'GET /api/audit/stats (admin.audit)',
      'GET /api/audit/types (admin.audit)',
      'GET /api/audit/export (admin.audit, stream)',
      'GET /api/audit/verify (admin.audit)',
      'POST /api/audit/compare (admin.audit)',
      'GET /api/backup (admin.tokens)',
      'POST /api/backup (admin.tokens)',
      'POST /api/backup/:name/restore (admin.tokens)',
      'GET /api/events (queue.view, stream)',
      'GET /openapi.json (open)',
      'POST /api/prove (open)',
      'GET /health/live (open)',
      'GET /health/ready (open)',
      'GET /metrics (queue.view, stream)',
      'GET /api/version (open)',
      'GET /api/cloud/health (queue.view)',
      'GET /api/cloud/health/live (open)',
      'GET /api/cloud/health/ready (open)',
      'GET /api/system/status (queue.view)',
    ]);
  });

  test.each([
    ['heartbeat', workerApi.heartbeat.reply, { cancel: null, abandon_job: null, heartbeat_interval_s: 30 }],
    ['status report', workerApi.reportStatus.reply, {}],
    ['disconnect', workerApi.disconnect.reply, {}],
    ['delete', workersApi.remove.reply, { worker_id: 'w_1' }],
    [
      'submit',
      queueApi.submit.reply,
      {
        job_id: 'j_1',
        status: 'queued',
        allocated_worker_id: null,
        allocated_gpus: null,
        queue_position: 1,
        reason: 'r',
      },
    ],
  ])('accepts a response of %s only with success: true', (_title, reply, fields) => {
    expect(reply.parse({ success: true, ...fields })).toEqual({ success: true, ...fields });
    expect(reply.safeParse({ success: false, ...fields }).success).toBe(false);
  });

  test('accepts the response of a dry run without a job', () => {
    const explanation = {
      job_id: null,
      status: 'pending',
      summary: 'An idle worker fits: the job is next',
      unsatisfiable: false,
      position: 1,
      reasons: [],
      workers: [],
      pools: [],
      predicted_start: { at: '2026-01-02T03:04:05.678Z', in_s: 0, guess: true, basis: 'an idle worker fits' },
      no_prediction: null,
    };
    const reply = {
      success: true,
      dry_run: true,
      job_id: null,
      status: 'running',
      allocated_worker_id: 'w_1',
      allocated_gpus: [0],
      queue_position: null,
      reason: null,
      explanation,
    };
    expect(queueApi.submit.reply.parse(reply)).toEqual(reply);
    for (const changes of [{ job_id: 'j_1' }, { dry_run: false }, { explanation: undefined }])
      expect(queueApi.submit.reply.safeParse({ ...reply, ...changes })).not.toMatchObject({ data: reply });
    expect(queueApi.retry.reply.safeParse(reply).success).toBe(false);
  });

  test('accepts the responses of the liveness check and the version call', () => {
    expect(systemApi.live.reply.parse({ status: 'live' })).toEqual({ status: 'live' });
    const answer = { name: 'trainyard', version, protocol: 2 };
    expect(systemApi.version.reply.parse(answer)).toEqual(answer);
  });

  test.each(rows)('declares the parameters and the summary of $method $path', row => {
    const pathParameters = [...row.path.matchAll(/[:*]([a-z_]+)/g)].map(([, name]) => name);
    expect(Object.keys((row.params as z.ZodObject).shape)).toEqual(pathParameters);
    expect(row.summary).toMatch(/^[A-Z].+[^.]$/);
    expect(['open', 'worker', 'join', 'upload', ...permissions]).toContain(row.authority);
  });

  test('uses empty schemas for omitted parts of a call', () => {
    const requiredFields = { method: 'GET', path: '/x', authority: 'open', summary: 'Nothing' } as const;
    const row = call({ ...requiredFields, reply: z.string() });
    for (const part of [row.params, row.query, row.body]) expect(part.parse({ x: 1 })).toEqual({});
    expect(row.reply.parse('y')).toBe('y');
  });
});

describe('problems and refusals', () => {
  test.each(Object.entries(problems))(
    'defines an HTTP error status and a title for %s',
    (_code, { status, title }) => {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(title).toMatch(/^[A-Z]/);
    },
  );

  test('includes the detail in a refusal, and the action only if an action is given', () => {
    expect(refuse('job_final', 'over')).toEqual({
      ok: false,
      refusal: { code: 'job_final', detail: 'over' },
    });
    expect(refuse('job_final', 'over', 'stop').refusal).toEqual({
      code: 'job_final',
      detail: 'over',
      action: 'stop',
    });
    expect(accept(3)).toEqual({ ok: true, value: 3 });
  });

  test('reads a problem with an unknown code, and refuses an unknown action', () => {
    const problem = { type: 'about:blank', title: 'T', status: 409, detail: 'D', code: 'code_of_tomorrow' };
    expect(Problem.parse({ ...problem, extra: 1 })).toEqual(problem);
    const full = { ...problem, action: 'stop', errors: [{ field: 'f', message: 'm' }], request_id: 'r_1' };
    expect(Problem.parse(full)).toEqual(full);
    expect(Problem.safeParse({ ...problem, action: 'go' }).success).toBe(false);
  });
});

describe('UiEvent', () => {
  const envelope = { seq: 7, at: '2026-01-02T03:04:05.678Z' };

  test.each([
    { ...envelope, kind: 'reset' },
    { ...envelope, kind: 'worker', type: 'worker.offline', worker_id: 'w_1', worker: null },
    { ...envelope, kind: 'pool', type: 'launch.joined', pool_id: 'p_1', launch_id: 'a1' },
    {
      ...envelope,
      kind: 'job',
      type: 'job.failed',
      job_id: 'j_1',
      worker_id: null,
      attempt: 0,
      cause: 'worker_lost',
      job: null,
    },
  ])('reads an event of kind $kind unchanged', event => {
    expect(UiEvent.parse(event)).toEqual(event);
  });

  test.each([
    { ...envelope, kind: 'weather' },
    { ...envelope, kind: 'worker', type: 'job.failed', worker_id: 'w_1', worker: null },
    { kind: 'reset', seq: 7, at: 'yesterday' },
  ])('refuses the event %o', event => {
    expect(UiEvent.safeParse(event).success).toBe(false);
  });
});
