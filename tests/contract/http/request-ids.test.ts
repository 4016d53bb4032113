import { Agent, createServer, request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { unexpected, createBareApp } from '../../../main/http/listener/answer.ts';
import { createLog } from '../../../main/host/log.ts';
import { createLightWorker } from '../../support/light-worker.ts';
import { eventually } from '../../support/notices.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

type Line = Readonly<Record<string, unknown>>;

async function start(options: Parameters<typeof startTestServer>[0] = {}) {
  const server = await startTestServer({ jsonLog: true, ...options });
  onTestFinished(() => server.close());
  const lines = (event: string): readonly Line[] =>
    server.log.map(line => JSON.parse(line) as Line).filter(line => line['event'] === event);
  return { server, lines };
}

const submit = (server: TestServer, id: string, body: object = { config: { trainer: 'selftest' } }) =>
  fetch(`${server.url}/api/queue/submit`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      'content-type': 'application/json',
      'x-request-id': id,
    },
    body: JSON.stringify(body),
  });

describe('request id of a response', () => {
  test.each([
    ['a successful call', '/api/version', 200],
    ['a refused call', '/api/queue', 401],
    ['an unknown path', '/nowhere', 404],
  ])('sends a unique request id with %s, and in the body of a problem', async (_what, path, status) => {
    const { server } = await start();
    const answers = [await fetch(server.url + path), await fetch(server.url + path)];
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(2);
    for (const answer of answers) {
      const id = answer.headers.get('x-request-id');
      expect(answer.status).toBe(status);
      expect(id).toMatch(/^[0-9a-f]{16}$/);
      const body = (await answer.json()) as { readonly request_id?: string };
      expect(body.request_id).toBe(status === 200 ? undefined : id);
    }
  });

  test.each(['0190163d-8694-739b-aea5-966c26f8ad91', 'abc', 'a_b.c-1', 'x'.repeat(64)])(
    'accepts the request id %j of a client',
    async id => {
      const { server } = await start();
      const answer = await fetch(`${server.url}/nowhere`, { headers: { 'x-request-id': id } });
      expect(answer.headers.get('x-request-id')).toBe(id);
      expect(await answer.json()).toMatchObject({ request_id: id });
    },
  );

  test.each<[string, readonly string[]]>([
    ['an empty id', ['']],
    ['an id that is too long', ['x'.repeat(65)]],
    ['an id of two words', ['a b']],
    ['an id with markup', ['<b>']],
    ['an id in quotes', ['"a"']],
    ['a path as id', ['../x']],
    ['several ids', ['a', 'b']],
  ])('replaces an invalid request id of a client: %s', async (_what, requestIds) => {
    const { server } = await start();
    const id = await new Promise<unknown>((resolve, reject) => {
      const outgoing = request(
        `${server.url}/nowhere`,
        { headers: { 'x-request-id': [...requestIds] } },
        answer => {
          answer.resume();
          resolve(answer.headers['x-request-id']);
        },
      );
      outgoing.on('error', reject).end();
    });
    expect(id).toMatch(/^[0-9a-f]{16}$/);
  });
});

test('answers an unexpected error with a request id, and logs the stack with the same request id', async () => {
  const lines: string[] = [];
  const log = createLog(line => lines.push(line()), true);
  const app = createBareApp(log, false);
  app.get('/boom', () => {
    throw new Error('canary: select * from /etc/secret');
  });
  app.use(unexpected(log));
  const server = app.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const answer = await fetch(`http://127.0.0.1:${address.port}/boom?token=canary`, {
    headers: { 'x-request-id': 'look-me-up', connection: 'close' },
  });
  const text = await answer.text();
  expect(answer.status).toBe(500);
  expect(JSON.parse(text)).toMatchObject({ code: 'internal', request_id: 'look-me-up' });
  for (const hidden of ['canary', 'select', '/etc', 'request-ids.test', ' at '])
    expect(text).not.toContain(hidden);
  expect(lines).toHaveLength(1);
  const line = JSON.parse(lines[0] ?? '') as Line;
  expect(line).toMatchObject({
    level: 'error',
    event: 'http.failed',
    request_id: 'look-me-up',
    path: '/boom',
  });
  expect(line['cause']).toMatch(/canary: select.*\n +at .*request-ids\.test/s);
  expect(lines[0]).not.toContain('token=');
});

test('adds the request id to log lines until the response is sent, and not to later log lines', async () => {
  const lines: string[] = [];
  const log = createLog(line => lines.push(line()), true);
  const laterLogged = Promise.withResolvers<undefined>();
  const app = createBareApp(log, false);
  app.get('/', (_request, response) => {
    log.info('before');
    response.json({});
    log.info('after');
    setImmediate(() => {
      log.info('later');
      laterLogged.resolve(undefined);
    });
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const headers = { 'x-request-id': 'mine', connection: 'close' };
  await fetch(`http://127.0.0.1:${address.port}/`, { headers });
  await laterLogged.promise;
  const parsedLines = lines.map(line => JSON.parse(line) as Line);
  expect(parsedLines.map(line => [line['event'], line['request_id']])).toEqual([
    ['before', 'mine'],
    ['after', undefined],
    ['later', undefined],
  ]);
});

describe('request id in log lines', () => {
  test('logs each of many concurrent submissions with its own request id', async () => {
    const { server, lines } = await start();
    const ids = Array.from({ length: 20 }, (_, n) => `request-${n}`);
    const answers = await Promise.all(ids.map(id => submit(server, id)));
    const jobs = await Promise.all(
      answers.map(async answer => ((await answer.json()) as { readonly job_id: string }).job_id),
    );
    const linesByRequest = new Map(lines('job.submitted').map(line => [line['request_id'], line]));
    expect(linesByRequest.size).toBe(20);
    for (const [n, id] of ids.entries())
      expect(linesByRequest.get(id)).toMatchObject({ level: 'info', job_id: jobs[n], by: 'admin' });
  });

  test('logs the ids of job, worker and attempt from dispatch to the end, and in refused reports', async () => {
    const { server, lines } = await start();
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const [firstWorker, secondWorker] = await Promise.all(
      ['rig-1', 'rig-2'].map(async name => {
        const { id, token } = await server.createWorker({ name });
        return createLightWorker({ url: server.url, id, token, agent });
      }),
    );
    if (firstWorker === undefined || secondWorker === undefined) throw new Error('no workers');
    await firstWorker.register();
    await firstWorker.openStream();
    const job = await server.submit({ config: {} });
    const offer = await firstWorker.waitFor('the offer', () =>
      firstWorker.commands.find(({ type }) => type === 'job_submit'),
    );
    const attempt = offer.attempt_id ?? '';
    const ids = { job_id: job, worker_id: firstWorker.id, attempt: 1, attempt_id: attempt };
    expect(lines('worker.registered')).toMatchObject([{ worker_id: firstWorker.id, by: firstWorker.id }]);
    expect(lines('job.dispatched')).toMatchObject([{ ...ids, from: 'pending', to: 'dispatched' }]);
    expect((await secondWorker.report(job, attempt, 'running')).status).toBe(403);
    expect(lines('job.report_refused')).toMatchObject([
      { level: 'warn', job_id: job, worker_id: secondWorker.id, attempt_id: attempt, code: 'not_your_job' },
    ]);
    expect(lines('job.report_refused')[0]?.['request_id']).toMatch(/^[0-9a-f]{16}$/);
    await firstWorker.report(job, attempt, 'starting');
    await firstWorker.report(job, attempt, 'failed', { exit_code: 1, error: 'canary' });
    expect(lines('job.failed')).toMatchObject([
      { ...ids, to: 'failed', cause: 'trainer_exit', by: firstWorker.id },
    ]);
    expect(server.log.join('')).not.toContain('canary');
  });

  test('logs each request without its query when request logging is enabled', async () => {
    const { server, lines } = await start({ logRequests: true });
    await fetch(`${server.url}/nowhere?secret=canary`, { headers: { 'x-request-id': 'one' } });
    await submit(server, 'two', {});
    const waitForRequestLine = (id: string) =>
      eventually(`the line of ${id}`, () => lines('http.answered').find(line => line['request_id'] === id));
    expect(await waitForRequestLine('one')).toMatchObject({
      method: 'GET',
      path: '/nowhere',
      status: 404,
      finished: true,
    });
    expect(await waitForRequestLine('two')).toMatchObject({
      method: 'POST',
      path: '/api/queue/submit',
      status: 400,
    });
    expect(server.log.join('')).not.toContain('canary');
    const quietServer = await start();
    await fetch(`${quietServer.server.url}/nowhere`);
    await submit(quietServer.server, 'three', {});
    expect(quietServer.lines('http.answered')).toEqual([]);
  });
});
