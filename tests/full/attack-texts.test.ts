/** Names and texts with special characters in every interface (docs/internals/faults.md, S15). */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { asJson, sendRaw } from '../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

const markup = '<img src=x onerror=alert(1)>';
const frame = 'x\n\nid: 1\nevent: job\ndata: {"kind":"reset","seq":0}\n\n';
const ansi = '\u001b]0;owned\u0007\u001b[2J\u009b31m';
const reversedText = '\u202egpj.exe\u2066\u200f';
const lines = 'a\r\nb\u2028c\u2029d\u0085e\u0000';
const hostileText = [markup, frame, ansi, reversedText, lines].join(' ');

/** Matches characters that move the cursor, end a line or reverse text. Line breaks (\n) and tabs are allowed. */
const harmful = /[^\P{Cc}\t\n]|[\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

let server: TestServer;
let rig: { readonly id: WorkerId; readonly token: string };
let failedJob: JobId;
let pendingJob: JobId;
let workerStream: { readonly text: () => string };
let uiStream: { readonly text: () => string; until(pattern: RegExp): Promise<void> };

async function openStream(path: string, header: readonly [string, string], signal: AbortSignal) {
  const response = await fetch(server.url + path, { headers: [[...header]], signal });
  let text = '';
  const checks = new Set<() => void>();
  const readStream = async (): Promise<void> => {
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString('latin1');
      for (const check of checks) check();
    }
  };
  void readStream().catch(() => undefined);
  return {
    text: () => text,
    until: (pattern: RegExp): Promise<void> =>
      new Promise(resolve => {
        const check = (): void => {
          if (!pattern.test(text)) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
      }),
  };
}

const post = (path: string, body: object) =>
  sendRaw(server.url, {
    method: 'POST',
    path,
    headers: [['x-worker-token', rig.token], asJson],
    body: JSON.stringify(body),
  });

const controller = new AbortController();
beforeAll(async () => {
  server = await startTestServer();
  const { admin } = server;
  uiStream = await openStream(
    '/api/events',
    ['authorization', `Bearer ${server.adminToken}`],
    controller.signal,
  );
  rig = await server.createWorker({
    name: markup,
    labels: { rig: 'x', [lines.slice(0, 20)]: hostileText.slice(0, 64) },
  });
  const gpu = { index: 0, name: hostileText, vram_gb: 24 };
  const registration = await post('/api/workers/register', {
    protocol: 2,
    persistent: true,
    name: hostileText,
    agent_version: hostileText,
    gpu_info: {
      name: hostileText,
      count: 1,
      vram_gb: 24,
      driver: hostileText,
      accelerator: hostileText,
      gpus: [gpu],
    },
    labels: { own: hostileText.slice(0, 64), [frame.slice(0, 40)]: ansi },
  });
  expect(registration.status).toBe(200);
  workerStream = await openStream(
    `/api/workers/stream?worker_id=${rig.id}`,
    ['x-worker-token', rig.token],
    controller.signal,
  );
  await server.watch.worker(rig.id, 'idle');
  failedJob = await server.submit({
    config: { prompt: hostileText, [hostileText]: hostileText, nested: { list: [hostileText] } },
    config_name: markup,
    worker_labels: { rig: 'x' },
  });
  await server.watch.job(failedJob, 'dispatched');
  const progress = {
    step: 1,
    stage: hostileText.slice(0, 200),
    metrics: { [ansi]: 1, [frame.slice(0, 60)]: 2 },
  };
  await post(`/api/workers/job/${failedJob}/status`, { status: 'running', progress });
  await post('/api/workers/heartbeat', {
    status: hostileText,
    current_job_id: failedJob,
    job_progress: progress,
  });
  await post(`/api/workers/job/${failedJob}/status`, {
    status: 'failed',
    error: `Traceback\n${hostileText}\nValueError: ${hostileText}`,
    exit_code: 1,
    progress,
  });
  await server.watch.jobEnd(failedJob);
  pendingJob = await server.submit({ config: {}, worker_labels: { [ansi]: hostileText.slice(0, 60) } });
  valueOf(await admin.call(workersApi.drain, { params: { id: rig.id }, body: { reason: markup } }));
  await server.watch.worker(rig.id, 'draining');
});
afterAll(async () => {
  controller.abort();
  await server.close();
});

const blocksOf = (text: string): readonly string[] => text.split('\n\n').filter(block => block !== '');

describe('event streams', () => {
  test('escapes hostile text in events to one line of ASCII per frame, so that no frame is forged', async () => {
    await uiStream.until(/worker\.drain/);
    for (const text of [uiStream.text(), workerStream.text()])
      for (const line of text.split('\n'))
        expect(line).toMatch(/^(?:|: [a-z]+|id: \d+|data: \{[\x20-\x7e]*\})$/);
    const blocks = blocksOf(uiStream.text()).filter(block => !block.startsWith(':'));
    expect(blocks.length).toBeGreaterThan(6);
    const events = blocks.map(block => {
      const [, id = '', data = ''] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? [];
      const event = UiEvent.parse(JSON.parse(data));
      expect(event.seq).toBe(Number(id));
      return event;
    });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => (events[0]?.seq ?? 0) + n));
    expect(events.map(({ kind }) => kind)).not.toContain('reset');
    const commands = blocksOf(workerStream.text()).filter(block => block.startsWith('data: '));
    expect(commands.map(text => JSON.parse(text.slice(6)) as object)).toMatchObject([
      {
        type: 'job_submit',
        job_id: failedJob,
        config: { prompt: hostileText, [hostileText]: hostileText, nested: { list: [hostileText] } },
      },
    ]);
  });

  test('strips control characters from texts that a worker reports about itself, and shortens the texts', async () => {
    const worker = valueOf(await server.admin.call(workersApi.get, { params: { id: rig.id } }));
    const reportedTexts = [worker.host, worker.gpu_name, worker.accelerator_type, worker.agent_version];
    for (const text of [
      ...reportedTexts,
      worker.gpu_info.driver,
      ...worker.gpu_info.gpus.map(({ name }) => name),
    ]) {
      expect(text).toContain(markup);
      expect(text).not.toMatch(harmful);
      expect(text?.length).toBeLessThanOrEqual(200);
    }
  });
});

test.each([frame, ansi, reversedText, lines])(
  'rejects %j as the name of a worker or config, and as a reason to drain a worker',
  async text => {
    const { admin } = server;
    const answers = [
      await admin.call(workersApi.create, { body: { name: text } }),
      await admin.call(workersApi.drain, { params: { id: rig.id }, body: { reason: text } }),
      await admin.call(queueApi.submit, { body: { config: {}, config_name: text } }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ ok: false, failure: { problem: { code: 'invalid_request' } } });
  },
);

describe('terminal output', () => {
  const commands: readonly (readonly [string, () => readonly string[]])[] = [
    ['workers list', () => []],
    ['workers get', () => [rig.id]],
    ['jobs list', () => []],
    ['jobs list', () => ['--all']],
    ['jobs get', () => [failedJob]],
    ['jobs why', () => [pendingJob]],
    ['audit list', () => []],
    ['audit export', () => []],
    ['audit stats', () => []],
    ['queue status', () => []],
  ];
  const outputOptions: readonly (readonly string[])[] = [
    [],
    ['--json'],
    ['-o', 'worker_labels,labels,host,name,error_message,details'],
  ];

  test.each(commands)(
    'prints hostile text without control characters in every format of trainyard %s',
    async (command, args) => {
      for (const options of outputOptions) {
        const argv = [...command.split(' '), ...args(), ...options, '--data-dir', server.dataDir];
        const withoutTerminal = await runTrainyard(argv);
        const onTerminal = await runTrainyard(argv, { screen: { columns: 80, rows: 24 } });
        for (const { out, err, code } of [withoutTerminal, onTerminal]) {
          expect([argv.join(' '), code === 0 || code === 2], `stderr: ${err}`).toEqual([
            argv.join(' '),
            true,
          ]);
          // With `-o`, tabs separate the fields.
          expect(out).not.toMatch(harmful);
          expect(err).not.toMatch(harmful);
        }
        if (options[0] === '--json' && withoutTerminal.code === 0 && command !== 'audit export')
          expect(() => JSON.parse(withoutTerminal.out) as unknown).not.toThrow();
      }
    },
  );

  test("writes no control characters to the server's log", () => {
    for (const line of server.log)
      expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e]/u);
  });
});

test('prints an unexpected server response without control characters', async () => {
  const { createServer } = await import('node:http');
  const oddServer = createServer((_request, response) =>
    response.writeHead(502).end(`<h1>${hostileText}</h1>`),
  );
  await new Promise<void>(resolve => oddServer.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void oddServer.close());
  const address = oddServer.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const run = await runTrainyard(['workers', 'list', '--url', `http://127.0.0.1:${port}`], {
    env: { ADMIN_TOKEN: 'ta_x' },
  });
  expect(run.code).not.toBe(0);
  expect(run.err).toContain('502');
  expect(run.err).not.toMatch(harmful);
});
