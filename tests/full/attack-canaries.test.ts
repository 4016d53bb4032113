/**
 * Plants secrets in each possible place, and searches for them in all other places (docs/internals/faults.md, S19 and
 * I7).
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { backupApi } from '../../protocol/backup-api.ts';
import { configsApi } from '../../protocol/configs-api.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { everyCall } from '../support/every-call.ts';
import { textsBelow } from '../support/files-below.ts';
import {
  argvOf,
  environmentOf,
  killProcessesOf,
  ownerVariable,
  processesOf,
} from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { type Watch, watchEvents } from '../support/watch.ts';

/** Returns a unique secret that a search can recognize in any text. */
const canary = (what: string): string => `canary-${what}-${randomBytes(9).toString('hex')}`;

/** Secrets in a config, under the keys that users give them. */
const configSecrets = {
  hf_token: canary('hf'),
  wandb_api_key: canary('wandb'),
  '--hub_token': canary('hub'),
  tracker: { password: canary('deep') },
};
const dataloaderSecrets = { aws_secret_access_key: canary('aws') };
const serverSecret = canary('server');
const agentSecret = canary('agent');

/** Places where configs are allowed: the database, the rig of the job, and the call that returns configs. */
const configPlaces = [
  /^file data\/trainyard\.db(?:-wal)?$/,
  /^file data\/backups\//,
  /^file home\/trainyard\/rig-1\/jobs\/[^/]+\/(?:config|dataloader)\.json$/,
  /^GET \/api\/queue\/:id\/config$/,
];

interface Planted {
  readonly what: string;
  readonly text: string;
  /** Patterns of the only allowed places, in one of which the text must occur. Without places, it must occur nowhere. */
  readonly places: readonly RegExp[];
}

interface Evidence {
  readonly place: string;
  readonly text: string;
}

const roles: readonly (readonly [RegExp, string])[] = [
  [/ server --port/, 'server'],
  [/ guard /, 'guard'],
  [/agent\/main\.ts/, 'agent'],
  [/trainer\.cjs/, 'trainer'],
];
const roleOf = (argv: string): string => roles.find(([pattern]) => pattern.test(argv))?.[1] ?? 'unknown';

/** Reads what other users of the machine can see of each process of the test. */
const readProcesses = (owner: string): readonly Evidence[] =>
  processesOf(owner).flatMap(pid => {
    const role = roleOf(argvOf(pid));
    return [
      { place: `arguments of ${role}`, text: argvOf(pid) },
      { place: `environment of ${role}`, text: environmentOf(pid) },
    ];
  });

const readFiles = (folder: string): readonly Evidence[] =>
  Array.from(textsBelow(folder), ([path, text]) => ({ place: `file ${relative(folder, path)}`, text }));

interface CallParameters {
  readonly url: string;
  readonly adminToken: string;
  readonly job: JobId;
  readonly worker: WorkerId;
  readonly tokenId: string;
}

/** Makes each call that returns data, as a user with all permissions. */
async function readCalls({
  url,
  adminToken,
  job,
  worker,
  tokenId,
}: CallParameters): Promise<readonly Evidence[]> {
  const readCallsOfApi = everyCall.filter(
    ({ method, authority, stream }) =>
      method === 'GET' && authority !== 'worker' && stream !== 'text/event-stream',
  );
  const paths = [...readCallsOfApi.map(({ path }) => path), '/docs', '/'];
  return Promise.all(
    paths.map(async path => {
      const id = path.startsWith('/api/admin/workers')
        ? worker
        : path.startsWith('/api/tokens')
          ? tokenId
          : job;
      const response = await fetch(url + path.replace(':id', id).replace(':name', 'flux'), {
        headers: { authorization: `Bearer ${adminToken}` },
      });
      expect([path, response.status < 500]).toEqual([path, true]);
      return { place: `GET ${path}`, text: await response.text() };
    }),
  );
}

/** Records the bytes of the event stream until it is closed. */
async function openRawEvents(url: string, token: string) {
  const controller = new AbortController();
  const response = await fetch(`${url}/api/events`, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': '0' },
    signal: controller.signal,
  });
  let text = '';
  const readEvents = async (): Promise<void> => {
    for await (const part of response.body ?? []) text += Buffer.from(part).toString('latin1');
  };
  const ended = readEvents().catch(() => undefined);
  return {
    async close(): Promise<Evidence> {
      controller.abort();
      await ended;
      return { place: 'event stream', text };
    },
  };
}

const runAsNobody = (command: readonly string[]): Promise<{ readonly code: number; readonly out: string }> =>
  new Promise(resolve => {
    const args = ['--reuid=65534', '--regid=65534', '--clear-groups', '--', ...command];
    execFile('setpriv', args, { encoding: 'utf8' }, (error, out) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out }),
    );
  });

/** Creates a folder that every user can enter, so that files in it are protected only by their own modes. */
function openFolder(): string {
  const folder = mkdtempSync('/tmp/trainyard-canaries-');
  chmodSync(folder, 0o755);
  onTestFinished(() => {
    killProcessesOf(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

const canRunAsNobody = process.getuid?.() === 0 && existsSync('/usr/bin/setpriv');

test.skipIf(!existsSync('/proc/self/environ'))(
  'leaks no secret outside its allowed places while trainings succeed and fail',
  async () => {
    const folder = openFolder();
    const [dataDir, home, toolsFolder] = [join(folder, 'data'), join(folder, 'home'), join(folder, 'bench')];
    for (const path of [home, toolsFolder]) mkdirSync(path, { mode: 0o755 });
    const env = { [ownerVariable]: folder };
    const evidence: Evidence[] = [];
    const addEvidence = (foundPlaces: readonly Evidence[]): void => void evidence.push(...foundPlaces);

    const gate = join(toolsFolder, 'go');
    const trainer = join(toolsFolder, 'trainer.cjs');
    writeFileSync(
      trainer,
      `const { existsSync, readFileSync } = require('node:fs');
     const { code } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
     console.log('step 1/2');
     setInterval(() => { if (existsSync(${JSON.stringify(gate)} + code)) { console.error('ValueError: no'); process.exit(code); } }, 20);`,
    );

    const startServer = async (...args: readonly string[]) => {
      const program = startProgram(
        [
          process.execPath,
          join(root, 'main/cli.ts'),
          'server',
          '--port',
          '0',
          '--data-dir',
          dataDir,
          ...args,
        ],
        { env: { ...env, MY_SECRET: serverSecret } },
      );
      const [, url = ''] = await program.waitForLine(/(?:^Trainyard listens on |"url":")(http:[^"\s]+)/);
      const adminToken = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
      const admin = adminClient(url, adminToken);
      const watch = await watchEvents(url, adminToken);
      onTestFinished(() => watch.close());
      return { program, url, adminToken, admin, watch, ...createShortcuts(admin) };
    };
    const startAgent = (
      url: string,
      more: Readonly<Record<string, string>>,
      ...args: readonly string[]
    ): Program =>
      startProgram(
        [
          process.execPath,
          join(root, 'agent/main.ts'),
          '--orchestrator-url',
          url,
          '--name',
          'rig-1',
          '--persistent',
          '--verbose',
          ...args,
          '--trainer',
          `'${process.execPath}' '${trainer}' {config_path}`,
        ],
        { env: { ...env, ...more, RIG_SECRET: agentSecret, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home } },
      );
    const train = async (
      { watch, submit }: { readonly watch: Watch } & Pick<ReturnType<typeof createShortcuts>, 'submit'>,
      code: number,
    ): Promise<JobId> => {
      const config = { ...configSecrets, code };
      const job = await submit({ config, config_name: 'flux', dataloader: [dataloaderSecrets] });
      await watch.job(job, 'running');
      addEvidence(readProcesses(folder));
      writeFileSync(`${gate}${code}`, '');
      expect((await watch.jobEnd(job)).status).toBe(code === 0 ? 'completed' : 'failed');
      return job;
    };
    const outputOf = (place: string, { lines }: Program): Evidence => ({ place, text: lines.join('\n') });

    // The first server writes a log for humans. The agent gets a worker token in a variable.
    const first = await startServer();
    const { id, token: firstToken } = await first.createWorker({ name: 'rig-1' });
    valueOf(
      await first.admin.call(configsApi.put, { params: { name: 'flux' }, body: { model_family: 'flux' } }),
    );
    const api = valueOf(
      await first.admin.call(tokensApi.create, { body: { name: 'ada', permissions: ['queue.view'] } }),
    );
    const signedIn = await fetch(`${first.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: first.url },
      body: JSON.stringify({ token: api.token }),
    });
    const session = /trainyard_session=([^;]+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? 'none';
    expect(session).toMatch(/^ts_/);
    const wrong = canary('wrong');
    for (const [name, value] of [
      ['authorization', `Bearer ${wrong}`],
      ['x-worker-token', wrong],
    ] as const)
      expect((await fetch(`${first.url}/api/queue`, { headers: { [name]: value } })).ok).toBe(false);
    const agent = startAgent(first.url, { SIMPLETUNER_WORKER_TOKEN: firstToken });
    await first.watch.worker(id, 'idle');
    await train(first, 0);
    const { token: secondToken } = valueOf(
      await first.admin.call(workersApi.rotateToken, { params: { id } }),
    );
    await agent.exited;
    first.program.kill('SIGTERM');
    await first.program.exited;

    // The second server writes a JSON log and uses TLS. The agent gets a join token in a file.
    const second = await startServer('--json', '--ssl');
    const keyFile = readFileSync(join(dataDir, 'tls/key.pem'), 'utf8');
    const { join_token: joinToken } = valueOf(
      await second.admin.call(workersApi.createJoinToken, { params: { id }, body: {} }),
    );
    const tokenFile = join(toolsFolder, 'token');
    writeFileSync(tokenFile, joinToken, { mode: 0o600 });
    const secondAgent = startAgent(second.url, {}, '--worker-token-file', tokenFile);
    await second.watch.worker(id, 'idle');
    const [ownToken = 'none'] =
      /wt_[\w-]{43}/.exec(readFileSync(join(home, 'trainyard/rig-1/token'), 'utf8')) ?? [];
    expect(ownToken).not.toBe('none');
    const events = await openRawEvents(second.url, second.adminToken);
    const job = await train(second, 3);
    valueOf(await second.admin.call(backupApi.make));
    const callParameters = {
      url: second.url,
      adminToken: second.adminToken,
      job,
      worker: id,
      tokenId: api.id,
    };
    addEvidence(await readCalls(callParameters));
    addEvidence([await events.close()]);
    if (canRunAsNobody) {
      const pid = String(processesOf(folder)[0]);
      expect((await runAsNobody(['find', join(folder, 'data'), home, '-type', 'f', '-readable'])).out).toBe(
        '',
      );
      expect((await runAsNobody(['cat', tokenFile])).code).not.toBe(0);
      expect((await runAsNobody(['cat', `/proc/${pid}/environ`])).code).not.toBe(0);
      // Proves that this user can read files with a public mode.
      expect((await runAsNobody(['cat', trainer])).code).toBe(0);
    }
    addEvidence(readFiles(folder));
    secondAgent.kill('SIGTERM');
    await secondAgent.exited;
    second.program.kill('SIGTERM');
    await second.program.exited;
    addEvidence(readFiles(folder));
    addEvidence([
      outputOf('output of the server', first.program),
      outputOf('output of the server', second.program),
      outputOf('output of the agent', agent),
      outputOf('output of the agent', secondAgent),
    ]);

    const planted: readonly Planted[] = [
      { what: 'the admin token', text: second.adminToken, places: [/^file data\/admin-token$/] },
      { what: 'the first worker token', text: firstToken, places: [/^environment of agent$/] },
      { what: 'the second worker token', text: secondToken, places: [] },
      { what: 'the join token', text: joinToken, places: [/^file bench\/token$/] },
      {
        what: 'the worker token that the rig has created',
        text: ownToken,
        places: [/^file home\/trainyard\/rig-1\/token$/],
      },
      {
        what: 'the TLS key',
        text: keyFile.split('\n')[1] ?? 'none',
        places: [/^file data\/tls\/key\.pem$/],
      },
      { what: 'the API token', text: api.token, places: [] },
      { what: 'the session', text: session, places: [] },
      { what: 'a wrong token', text: wrong, places: [] },
      { what: 'the environment of the server', text: serverSecret, places: [/^environment of server$/] },
      {
        what: 'the environment of the rig',
        text: agentSecret,
        places: [/^environment of (?:agent|guard|trainer)$/],
      },
      ...[
        ...Object.values(configSecrets).map(each => (typeof each === 'string' ? each : each.password)),
        dataloaderSecrets.aws_secret_access_key,
      ].map(text => ({ what: 'a value of a config', text, places: configPlaces })),
    ];
    const places = new Set(evidence.map(({ place }) => place));
    for (const role of ['server', 'agent', 'guard', 'trainer'])
      expect(places).toContain(`environment of ${role}`);
    expect([...places].filter(place => place.includes('unknown'))).toEqual([]);
    for (const { what, text, places: allowed } of planted) {
      const foundPlaces = [
        ...new Set(evidence.filter(each => each.text.includes(text)).map(({ place }) => place)),
      ];
      expect([what, foundPlaces.filter(place => !allowed.some(pattern => pattern.test(place)))]).toEqual([
        what,
        [],
      ]);
      // Proves that the search covered the allowed places.
      expect([what, foundPlaces.length > 0]).toEqual([what, allowed.length > 0]);
    }
    // The database holds only the hash of each token.
    const database = evidence.filter(({ place }) => place.startsWith('file data/trainyard.db'));
    for (const secret of [joinToken, ownToken, api.token]) {
      const hash = createHash('sha256').update(secret).digest('hex');
      expect(database.some(({ text }) => text.includes(hash))).toBe(true);
    }
  },
  120_000,
);
