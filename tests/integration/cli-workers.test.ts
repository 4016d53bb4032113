/** `trainyard workers ...` against an orchestrator: its effects, output and exit codes. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { settingsApi } from '../../protocol/settings-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { version } from '../../protocol/version.ts';
import { createLightWorker, type LightWorker } from '../support/light-worker.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const workers = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
  runTrainyard(['workers', ...args, '--data-dir', server.dataDir], options);

test("writes the server's address to a file that only its owner can read", () => {
  const file = join(server.dataDir, 'url');
  expect(readFileSync(file, 'utf8')).toBe(`${server.url}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('creates, lists, shows, drains, undrains and deletes a worker', async () => {
  expect(await workers(['list'])).toMatchObject({
    code: 0,
    out: '',
    err: 'No workers. To add one, run "trainyard workers create NAME"\n',
  });
  const created = await workers([
    'create',
    'rig one',
    '--type',
    'ephemeral',
    '--label',
    'gpu=a100',
    '--label',
    'rack=4',
  ]);
  expect(created.code).toBe(0);
  expect(created.err).toMatch(/\nBoth are shown only once. Save what you need now\n$/);
  expect(created.out).toMatch(
    /^Worker +rig one \(w_\w+\)\nJoin command +SIMPLETUNER_WORKER_TOKEN=tj_\S+ trainyard worker .*\nValid +once, until 2\S+Z\nToken for SimpleTuner's own worker +wt_\S+\n$/,
  );

  const workerList = await workers(['list', '--json']);
  expect(JSON.parse(workerList.out)).toMatchObject({
    total: 1,
    workers: [{ name: 'rig one', worker_type: 'ephemeral', labels: { gpu: 'a100', rack: '4' } }],
  });
  const [id = ''] = (await workers(['list', '-o', 'id,name'])).out.split('\t');
  expect((await workers(['get', id.slice(0, 6)])).out).toMatch(
    /^Name +rig one\n.*Labels +gpu=a100\n +rack=4\n$/s,
  );

  const drained = await workers(['drain', 'rig one', '--reason', 'new fans', '--deadline', '30m', '--json']);
  const { drain } = JSON.parse(drained.out) as { drain: { reason: string; since: string; deadline: string } };
  expect(drain.reason).toBe('new fans');
  expect(Date.parse(drain.deadline) - Date.parse(drain.since)).toBe(1_800_000);
  expect((await workers(['undrain', 'rig one', '-o', 'drain'])).out).toBe('\n');
  expect((await workers(['unquarantine', id])).code).toBe(0);

  expect((await workers(['delete', 'rig one'])).out).toMatch(/^Deleted +rig one \(w_/);
  expect((await workers(['get', id])).code).toBe(4);
});

test('warns when a new worker has the name of another one', async () => {
  const [first, second] = [
    await workers(['create', 'twin', '-o', 'worker_id']),
    await workers(['create', 'twin']),
  ];
  const firstId = first.out.trim();
  const secondId = /\((w_\w+)\)/.exec(second.out)?.[1] ?? '';
  expect(first.err).not.toContain('Warning: 2 workers');
  expect(second.code).toBe(0);
  expect(second.err).toContain(
    `Warning: 2 workers are called twin now: ${secondId}, ${firstId}. Commands need their ids. To rename one, run "trainyard workers rename ${secondId} NAME"; to delete one, "trainyard workers delete ${firstId}"`,
  );
  for (const id of [firstId, secondId]) await workers(['delete', id]);
});

describe('join commands', () => {
  test('returns the join command and the token of a new worker as JSON', async () => {
    const created = await workers(['create', 'rig-json', '--json']);
    const fields = JSON.parse(created.out) as Readonly<Record<string, string>>;
    expect(Object.keys(fields)).toEqual([
      'worker_id',
      'token',
      'name',
      'connection_command',
      'join_token',
      'join_expires_at',
      'join_command',
      'install_command',
      'short_command',
    ]);
    expect(fields['connection_command']).toContain(`TOKEN=${fields['token']} `);
    expect(fields['join_command']).toContain(`TOKEN=${fields['join_token']} `);
    await workers(['delete', 'rig-json']);
  });

  test('creates another join command with an expiry, and keeps the current token valid', async () => {
    const { id, token } = await server.createWorker({ name: 'rig-again' });
    const joinRun = await workers(['join', 'rig-again', '--expires', '30m', '--json']);
    const { join_token: joinToken, expires_at: at } = JSON.parse(joinRun.out) as Readonly<
      Record<string, string>
    >;
    expect(joinToken).toMatch(/^tj_[\w-]{43}$/);
    expect(Math.abs(Date.parse(at ?? '') - Date.now() - 1_800_000)).toBeLessThan(60_000);
    expect((await workers(['join', id])).out).toMatch(
      /^Worker +rig-again \(w_\w+\)\nJoin command +SIMPLETUNER_WORKER_TOKEN=tj_\S+ .*\nValid +once, until 2\S+\n$/,
    );
    const call = async (path: string): Promise<number> =>
      (
        await fetch(server.url + path, {
          method: 'POST',
          headers: { 'x-worker-token': token, 'content-type': 'application/json' },
          body: '{}',
        })
      ).status;
    expect([await call('/api/workers/register'), await call('/api/workers/disconnect')]).toEqual([200, 200]);
    await workers(['delete', 'rig-again']);
  });

  test.each([
    [['create', 'rig-far', '--type', 'persistent']],
    [['join', 'rig-known']],
    [['rotate', 'rig-known', '--yes']],
  ])('warns that the join command works only on this machine after workers %j', async args => {
    const { id } = await server.createWorker({ name: 'rig-known' });
    const warning = `Warning: ${server.url} works on this machine only, so no other machine can join with this command`;
    const localRun = await workers(args);
    expect(localRun.code).toBe(0);
    expect(localRun.err).toContain(warning);
    expect(localRun.err).toMatch(/ Then run "trainyard workers join w_\w+"\n/);
    expect(localRun.out).not.toContain('Warning');
    await server.admin.call(settingsApi.change, { body: { public_url: 'https://yard.example.org' } });
    const joinCommandRun = await workers(['join', id]);
    expect(joinCommandRun.out).toContain('--orchestrator-url https://yard.example.org');
    expect(joinCommandRun.err).toBe('The command is shown only once. Save it now\n');
    await server.admin.call(settingsApi.change, { body: { public_url: null } });
    await workers(['delete', id]);
    if (args[0] === 'create') await workers(['delete', 'rig-far']);
  });

  test("prints a join token after rotating a worker's token", async () => {
    await server.createWorker({ name: 'rig-turned' });
    const rotateRun = await workers(['rotate', 'rig-turned', '--yes', '-o', 'token,join_token']);
    expect(rotateRun.out).toMatch(/^wt_\S+\ttj_\S+\n$/);
    await workers(['delete', 'rig-turned']);
  });

  test('prints the worker token when an older server cannot create join tokens', async () => {
    const createdWorker = {
      worker_id: 'w_1',
      token: 'wt_1',
      name: 'rig',
      connection_command: 'TOKEN=wt_1 trainyard worker',
    };
    const olderServer = createServer((request, response) => {
      const isCreate = request.url === '/api/admin/workers';
      const problem = {
        type: 'about:blank',
        title: 'No',
        status: 404,
        detail: 'no',
        code: 'route_not_found',
      };
      response.writeHead(isCreate ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isCreate ? createdWorker : problem));
    });
    await new Promise<void>(resolve => {
      olderServer.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void olderServer.close());
    const url = `http://127.0.0.1:${(olderServer.address() as AddressInfo).port}`;
    const run = await runTrainyard(['workers', 'create', 'rig', '--url', url, '--token', 'ta_x']);
    expect(run.code).toBe(0);
    expect(run.out).toMatch(
      /^Worker +rig \(w_1\)\nJoin command +TOKEN=wt_1 trainyard worker\nToken .* wt_1\n$/,
    );
    expect(run.err).toMatch(
      /^No join command was created: .* its version is older\. To create one, run "trainyard workers join"\nThe token is shown only once\. Save it now\n$/m,
    );
  });
});

describe('confirmations', () => {
  test.each<[readonly string[], RegExp]>([
    [['delete', 'asked'], /^Delete worker asked \(w_\w+\)\? Its token stops working\. \[y\/N\] $/],
    [['rotate', 'asked'], /^The token of asked stops working now\. Continue\? \[y\/N\] $/],
    [['rotate', 'asked', '--after-job'], /stops working when its job ends\. Continue\?/],
  ])(
    'asks for confirmation of workers %j, and changes nothing unless the answer is yes',
    async (args, question) => {
      const { id } = await server.createWorker({ name: 'asked' });
      for (const answer of ['', 'n', 'yet', null]) {
        const run = await workers(args, { answer });
        expect(run).toMatchObject({ code: 1, out: '', err: 'Cancelled: nothing was changed\n' });
        expect(run.questions).toEqual([expect.stringMatching(question)]);
      }
      expect((await workers(args, { answer: ' Yes ' })).code).toBe(0);
      if (args[0] !== 'delete') await workers(['delete', id]);
    },
  );

  test('asks for no confirmation with --yes or without a terminal', async () => {
    await server.createWorker({ name: 'unasked' });
    const rotateRun = await workers(['rotate', 'unasked', '--yes', '-o', 'token'], { answer: 'n' });
    expect(rotateRun).toMatchObject({ code: 0, questions: [] });
    expect(rotateRun.out).toMatch(/^wt_\S+\n$/);
    expect(await workers(['delete', 'unasked'])).toMatchObject({ code: 0, questions: [] });
  });
});

describe('usage errors of workers', () => {
  test.each<[string, number, readonly string[], RegExp]>([
    ['an expiry that is too short', 2, ['join', 'rig-x', '--expires', '30s'], /^--expires: /],
    ['an invalid expiry', 2, ['join', 'rig-x', '--expires', 'soon'], /30m/],
    ['a join command for an unknown worker', 4, ['join', 'nobody'], /No worker "nobody"/],
    ['an unknown worker', 4, ['drain', 'nobody'], /No worker "nobody".*workers list/],
    ['an empty name', 2, ['create', '  '], /^NAME: a name is required$/m],
    ['a label without a value', 2, ['create', 'x', '--label', 'gpu'], /KEY=VALUE/],
    ['a label that is too long', 2, ['create', 'x', '--label', `k=${'v'.repeat(65)}`], /^--label: /],
    ['an unknown worker type', 2, ['create', 'x', '--type', 'loyal'], /persistent, ephemeral/],
    ['an invalid deadline', 2, ['drain', 'x', '--deadline', 'soon'], /30m/],
    ['workers label without a change', 2, ['label', 'rig-x'], /missing required argument 'change'/],
    ['a label change without a value', 2, ['label', 'rig-x', 'gpu'], /KEY=VALUE to set a label, or KEY-/],
    ['a label without a name', 2, ['label', 'rig-x', '=a'], /KEY=VALUE/],
    [
      'a label that is both set and removed',
      2,
      ['label', 'rig-x', 'gpu=a', 'gpu-'],
      /set and removed at once: gpu/,
    ],
    ['the reserved label __proto__', 2, ['label', 'rig-x', '__proto__=a'], /^KEY=VALUE: "__proto__"/],
    ['a new label that is too long', 2, ['label', 'rig-x', `k=${'v'.repeat(65)}`], /^KEY=VALUE: /],
    ['labels of an unknown worker', 4, ['label', 'nobody', 'a=b'], /No worker "nobody"/],
    ['an empty new name', 2, ['rename', 'rig-x', ' '], /^NAME: a name is required/],
    ['a new name for an unknown worker', 4, ['rename', 'nobody', 'x'], /No worker "nobody"/],
    ['a missing argument', 2, ['get'], /missing required argument 'worker'\n.*--help/],
    ['an unknown option', 2, ['list', '--jsn'], /--json/],
    ['a wrong token', 3, ['list', '--token', 'ta_wrong'], /Invalid token/],
    ['a worker token', 3, ['list', '--token', 'WORKER'], /worker tokens are not accepted/],
  ])('fails with a reason and prints nothing to stdout for %s', async (_what, code, args, message) => {
    const { token } = await server.createWorker({ name: 'rig-x' });
    const run = await workers(args.map(word => (word === 'WORKER' ? token : word)));
    expect(run).toMatchObject({ code, out: '' });
    expect(run.err).toMatch(message);
    await workers(['delete', 'rig-x']);
  });

  test('exits with 6 and a hint when no server listens', async () => {
    const closedServer = await startTestServer();
    await closedServer.close();
    const run = await runTrainyard([
      'workers',
      'list',
      '--url',
      closedServer.url,
      '--token',
      closedServer.adminToken,
    ]);
    expect(run).toMatchObject({ code: 6, out: '' });
    expect(run.err).toContain(
      `${closedServer.url} cannot be reached: Connection refused. Check the address and port, and that the orchestrator is running\n`,
    );
  });
});

test('warns that a change may have been made when its response is lost, but not for a read', async () => {
  const droppingServer = createServer(request => request.socket.destroy());
  await new Promise<void>(resolve => {
    droppingServer.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void droppingServer.close());
  const env = {
    SIMPLETUNER_ORCHESTRATOR_URL: `http://127.0.0.1:${(droppingServer.address() as AddressInfo).port}`,
    ADMIN_TOKEN: 'ta_x',
  };
  const created = await runTrainyard(['workers', 'create', 'rig-1'], { env });
  expect(created).toMatchObject({
    code: 6,
    err: expect.stringContaining('may have been made. Check before'),
  });
  const keyedRun = await runTrainyard(['jobs', 'submit', 'digits', '--idempotency-key', 'k'], { env });
  expect(keyedRun).toMatchObject({
    code: 6,
    err: expect.stringContaining('Run the command again with the same key'),
  });
  const workerList = await runTrainyard(['workers', 'list'], { env });
  expect(workerList).toMatchObject({ code: 6, err: expect.not.stringContaining('may have been made') });
});

test('accepts a token in the arguments, and warns once', async () => {
  const run = await runTrainyard([
    'workers',
    'list',
    '--url',
    server.url,
    '--token',
    server.adminToken,
    '--json',
  ]);
  expect(run.code).toBe(0);
  expect(JSON.parse(run.out)).toMatchObject({ workers: [] });
  expect(run.err).toBe(
    'Warning: every user of this machine can see a token in the arguments. Use --token-file\n',
  );
});

describe('workers label', () => {
  const labelsOf = async (name: string): Promise<unknown> => {
    const { labels, admin_labels } = JSON.parse((await workers(['get', name, '--json'])).out) as WorkerView;
    return [labels, admin_labels];
  };

  test("sets and removes an admin's labels one by one, and keeps the agent's labels", async () => {
    const { id, token } = await server.createWorker({ name: 'labelled', labels: { team: 'nlp', rack: '4' } });
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const worker = createLightWorker({ url: server.url, id, token, agent });
    await worker.register({ labels: { zone: 'eu', host: 'h1' } });
    const { out } = await workers(['label', 'labelled', 'gpu=a100=80', 'team=', 'rack-', 'none-']);
    expect(out).toMatch(/^Labels +zone=eu \(its own\)\n +host=h1 \(its own\)\n +team=\n +gpu=a100=80\n$/m);
    expect(await labelsOf('labelled')).toEqual([
      { zone: 'eu', host: 'h1', team: '', gpu: 'a100=80' },
      { team: '', gpu: 'a100=80' },
    ]);

    const refused = await workers(['label', 'labelled', 'new=1', 'zone-']);
    expect(refused).toMatchObject({ code: 5, out: '' });
    expect(refused.err).toMatch(/^labelled sets the label zone itself\. /);
    // An admin's label overrides the agent's label with the same key. After its removal, the agent's value applies
    // again.
    await workers(['label', 'labelled', 'zone=us', 'team-', 'gpu-']);
    expect(await labelsOf('labelled')).toEqual([{ zone: 'us', host: 'h1' }, { zone: 'us' }]);
    await workers(['label', 'labelled', 'zone-']);
    expect(await labelsOf('labelled')).toEqual([{ zone: 'eu', host: 'h1' }, {}]);
    // When the agent registers with other labels, its earlier labels are removed.
    await worker.register({ labels: { host: 'h2' } });
    expect(await labelsOf('labelled')).toEqual([{ host: 'h2' }, {}]);
  });

  test('dispatches a pending job when a worker gets the label it requires', async () => {
    const { id, token } = await server.createWorker({ name: 'bare' });
    const agent = new Agent();
    const worker = createLightWorker({ url: server.url, id, token, agent });
    onTestFinished(() => {
      worker.cut();
      agent.destroy();
    });
    await worker.register();
    await worker.openStream();
    const job = await server.submit({ config: {}, worker_labels: { gpu: 'h100*' } });
    expect((await workers(['label', 'bare', 'gpu=h100-80gb', '-o', 'current_job_id'])).out).toBe(`${job}\n`);
  });
});

test('renames a worker and keeps its id', async () => {
  const { id } = await server.createWorker({ name: 'rig-old', labels: { rack: '7' } });
  expect((await workers(['rename', 'rig-old', ' rig new ', '-o', 'id,name,labels.rack'])).out).toBe(
    `${id}\trig new\t7\n`,
  );
  expect((await workers(['get', 'rig-old'])).code).toBe(4);
  await workers(['delete', 'rig new']);
});

describe('trainyard workers update', () => {
  const name = 'trainyard-worker.mjs';
  const program = '// the program of the server\n';
  const sha256 = createHash('sha256').update(program).digest('hex');
  const own = { name, sha256: 'a'.repeat(64), blocked: null };
  const agent = new Agent();
  let updater: TestServer;
  beforeAll(async () => {
    const workerPrograms = temporaryFolder();
    writeFileSync(join(workerPrograms, name), program);
    updater = await startTestServer({ workerPrograms });
  });
  afterAll(async () => {
    agent.destroy();
    await updater.close();
  });

  const update = (...args: readonly string[]): Promise<CliRun> =>
    runTrainyard(['workers', 'update', ...args, '--data-dir', updater.dataDir]);

  /** Starts a worker with an older program. The worker answers an update command with these reports. */
  async function openOutdatedWorker(rig: string, reports: readonly object[], more: object = {}) {
    const { id, token } = await updater.createWorker({ name: rig });
    const light: LightWorker = createLightWorker({
      url: updater.url,
      id,
      token,
      agent,
      onCommand: command => {
        if (command.type === 'update') void answer(command);
      },
    });
    const answer = async (command: object): Promise<void> => {
      const updateId = 'id' in command ? command.id : null;
      for (const report of reports)
        await fetch(`${updater.url}/api/workers/update`, {
          method: 'POST',
          headers: { 'x-worker-token': token, 'content-type': 'application/json' },
          body: JSON.stringify({ id: updateId, ...report }),
        });
      if (reports.some(report => 'reason' in report)) return;
      await light.register({ agent_version: version, program: { ...own, sha256 }, start_id: 'next' });
      await light.openStream();
    };
    await light.register({ agent_version: '0.0.1', program: own, ...more });
    await light.openStream();
    onTestFinished(() => light.cut());
  }

  test('updates a worker, prints each step, and shows its new version', async () => {
    await openOutdatedWorker('rig-new', [{ state: 'downloading' }, { state: 'restarting' }]);
    const { code, out, err } = await update('rig-new');
    expect(err).toContain(`rig-new: updated to ${version}\n`);
    expect(out.split('\n')[1]).toMatch(new RegExp(`^rig-new +updated +${version.replaceAll('.', '\\.')}`));
    expect(code).toBe(0);
  });

  test('exits with 1, and prints the reason and the manual command, when workers were not updated', async () => {
    await openOutdatedWorker('rig-bad', [{ state: 'failed', reason: 'the disk is full' }]);
    const failed = await update('rig-bad', '--json');
    expect(failed.code).toBe(1);
    expect(failed.err).toContain('1 of 1 workers were not updated');
    expect(JSON.parse(failed.out)).toMatchObject({
      workers: [{ name: 'rig-bad', state: 'failed', detail: 'the disk is full' }],
    });
    await openOutdatedWorker('rig-old', [], { program: null });
    const refused = await update('rig-old');
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/^rig-old +refused/m);
    expect(refused.err).toContain('To update a worker by hand, run this on its machine:');
  });

  test('requests the update of all workers with --all, and does not wait with --no-wait', async () => {
    await openOutdatedWorker('rig-slow', []);
    const { out } = await update('--all', '--no-wait', '--json');
    const { workers: results } = JSON.parse(out) as { workers: { name: string; state: string }[] };
    expect(results.find(each => each.name === 'rig-slow')).toMatchObject({ state: 'requested' });
  });

  test.each([
    [[], 'Give the workers to update, or --all'],
    [['--all', 'rig-new'], 'Give the workers to update, or --all'],
    [['--all', '--at-once', '65'], 'Give a number from 1 to 64'],
  ])('refuses trainyard workers update %j', async (args, message) => {
    const { code, err } = await update(...args);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});
