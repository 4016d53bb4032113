import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Flags } from '../../../agent/config/index.ts';
import { readExit } from '../../../agent/guard/guard-files.ts';
import { type Host, runWorker } from '../../../agent/worker.ts';
import { endTraining } from '../../support/trainings.ts';
import { launchDeps } from './guard-fixture.ts';
import { loadValidConfig, minimalFlags, closedPortUrl, offerOf, tempFolder, writeFile } from './builders.ts';
import { refused, startOrchestrator } from './scripted-orchestrator.ts';

type SignalName = Parameters<Host['onSignal']>[0];

interface StartedWorker {
  /** Resolves with the exit code when the worker ends. */
  readonly exit: Promise<number>;
  readonly logged: readonly string[];
  /** Resolves with the first log line that contains these words. */
  waitForLog(words: string): Promise<string>;
  signal(name: SignalName): void;
  /** Closes the worker's stdin, like the exit of its parent process. */
  endInput(): void;
  readonly home: string;
}

/** Creates a folder for PATH with an nvidia-smi that prints these rows. Without rows, the folder stays empty. */
function binWithGpus(rows: string): string {
  const bin = tempFolder();
  if (rows !== '') writeFile(bin, 'nvidia-smi', `#!/bin/sh\nprintf '${rows}'\n`, 0o755);
  return bin;
}

function startWorker(flags: Flags, gpuRows = '', bin = binWithGpus(gpuRows)): StartedWorker {
  const home = tempFolder();
  const env = { PATH: bin, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home };
  const logged: string[] = [];
  const waiters = new Set<() => void>();
  const signalHandlers = new Map<SignalName, () => void>();
  const inputEndHandlers = new Set<() => void>();
  const exit = runWorker(loadValidConfig({ ...minimalFlags, name: 'rig-3', ...flags }, env), {
    env,
    ownCommand: launchDeps.ownCommand,
    version: '1.2.3',
    log: message => {
      logged.push(message);
      for (const check of waiters) check();
    },
    onSignal: (name, handler) => void signalHandlers.set(name, handler),
    onInputEnd: handler => void inputEndHandlers.add(handler),
  });
  const signal = (name: SignalName): void => signalHandlers.get(name)?.();
  onTestFinished(() => {
    // The second signal also stops a running job.
    signal('SIGTERM');
    signal('SIGTERM');
  });
  return {
    exit,
    logged,
    home,
    signal,
    endInput: () => inputEndHandlers.forEach(handler => handler()),
    waitForLog: words =>
      new Promise(resolve => {
        const check = (): void => {
          const line = logged.find(text => text.includes(words));
          if (line !== undefined) resolve(line);
        };
        waiters.add(check);
        check();
      }),
  };
}

const twoGpus = '0, RTX 4090, 24564, 550.1, GPU-aa\\n1, RTX 3090, 24576, 550.1, GPU-bb\\n';
/** A trainer that prints its GPUs and then runs until it is stopped. */
const endlessTrainer = `${process.execPath} -e 'console.log("ready " + process.env.CUDA_VISIBLE_DEVICES); setInterval(() => {}, 1000)'`;

describe('failed starts', () => {
  it.each<[string, Flags, number, RegExp]>([
    [
      'a token file that does not exist',
      { 'worker-token': undefined, 'worker-token-file': '/nowhere/token' },
      2,
      /worker token could not be read/,
    ],
    [
      'a CA file that does not exist',
      { 'ca-file': '/nowhere/ca.pem' },
      2,
      /^--ca-file \/nowhere\/ca\.pem: ENOENT/,
    ],
    [
      'an invalid CA file',
      { 'ca-file': import.meta.filename },
      2,
      /^--ca-file .*worker\.test\.ts: it contains no certificate in PEM format$/,
    ],
    ['a GPU that does not exist', { gpus: '7' }, 2, /There is no usable GPU 7 here/],
  ])('exits with a reason when the settings name %s', async (_title, flags, code, message) => {
    const { exit, logged } = startWorker(flags);
    expect(await exit).toBe(code);
    expect(logged).toEqual([expect.stringMatching(message)]);
  });

  it('exits when the state folder cannot be created', async () => {
    const file = writeFile(tempFolder(), 'file', '');
    const config = { ...loadValidConfig(minimalFlags), stateDir: join(file, 'state') };
    const logged: string[] = [];
    const host = {
      env: {},
      ownCommand: [],
      version: '1',
      onSignal: () => {},
      onInputEnd: () => {},
      log: (line: string) => logged.push(line),
    };
    expect(await runWorker(config, host)).toBe(1);
    expect(logged.at(-1)).toMatch(/^The worker's state can't be kept: ENOTDIR.*--state-dir$/);
  });

  it('exits with 3 when the token is unknown', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => refused(401);
    const { exit, logged } = startWorker({ 'orchestrator-url': orchestrator.url });
    expect(await exit).toBe(3);
    expect(logged.at(-1)).toMatch(/^Invalid token: /);
  });
});

describe('self-description of a worker', () => {
  it('logs its GPUs, missing trainers and insecure settings', async () => {
    const { waitForLog, logged } = startWorker(
      { 'orchestrator-url': await closedPortUrl(), 'ssl-no-verify': true },
      twoGpus,
    );
    await waitForLog('Connection refused');
    expect(logged).toEqual([
      'Worker rig-3: 1x RTX 4090 + 1x RTX 3090 (2 in all); leaves after one job',
      expect.stringMatching(/^No trainer found: python or python3/),
      expect.stringMatching(
        /^WARNING: TLS certificates are not checked \(--ssl-no-verify\).*steal the token.*--pin .*--ca-file$/,
      ),
      expect.stringMatching(/^Connection refused: .*Trying again$/),
    ]);
  });

  it('reports its GPUs, labels and settings to the orchestrator', async () => {
    const orchestrator = await startOrchestrator();
    const flags = { 'orchestrator-url': orchestrator.url, persistent: true, label: ['team=nlp'], gpus: '1' };
    const { home } = startWorker(flags, twoGpus);
    expect((await orchestrator.nth('register')).body).toEqual({
      program: { name: null, sha256: null, blocked: 'checkout', trial: false },
      protocol: 2,
      registration_no: 1,
      instance_id: readFileSync(join(home, 'trainyard/rig-3/instance'), 'utf8').trim(),
      start_id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: 'rig-3',
      persistent: true,
      labels: { team: 'nlp' },
      agent_version: '1.2.3',
      multi_node: true,
      fetches_inputs: true,
      allowed_config_keys: [],
      trainers: [],
      outputs: { upload: 'all', command_has_output_dir: null },
      datasets: [],
      gpu_count: 1,
      gpu_name: 'RTX 3090',
      gpu_vram_gb: 24,
      accelerator_type: 'cuda',
      gpu_info: {
        name: 'RTX 3090',
        vram_gb: 24,
        count: 1,
        driver: '550.1',
        accelerator: 'cuda',
        gpus: [{ index: 1, name: 'RTX 3090', vram_gb: 24 }],
      },
      current_job_id: null,
      current_attempt_id: null,
      gpu_troubles: [],
    });
  });
});

/** A trainer that leaves a child outside its own process group and session. nvidia-smi then lists the child on GPU 0. */
const trainerWithDetachedChild = (pidFile: string, appsFile: string): string => `
  const child = require('node:child_process').spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' });
  require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
  require('node:fs').writeFileSync(${JSON.stringify(appsFile)}, child.pid + ', GPU-aa, 9216\\n');
  child.unref();`;

it.skipIf(process.platform !== 'linux')(
  'reports processes that a job left on a GPU before it reports the end of the job',
  async () => {
    const orchestrator = await startOrchestrator();
    const bin = tempFolder();
    const pidFile = join(bin, 'pid');
    const appsFile = writeFile(bin, 'apps', '');
    const nvidiaSmi = `case "$1" in --query-compute-apps*) /bin/cat ${appsFile} ;; *) printf '${twoGpus}' ;; esac`;
    writeFile(bin, 'nvidia-smi', `#!/bin/sh\n${nvidiaSmi}\n`, 0o755);
    const script = writeFile(bin, 'trainer.cjs', trainerWithDetachedChild(pidFile, appsFile));
    const flags = { 'orchestrator-url': orchestrator.url, trainer: `${process.execPath} ${script}` };
    const { waitForLog } = startWorker(flags, '', bin);
    await waitForLog('Connected to');
    orchestrator.push(offerOf('j1', 'a1'));
    await orchestrator.reported('completed');
    const childPid = Number(readFileSync(pidFile, 'utf8'));
    onTestFinished(() => void process.kill(childPid, 'SIGKILL'));
    const reports = orchestrator.calls.filter(({ name }) => name === 'heartbeat' || name === 'status');
    expect(reports.at(-2)?.body).toMatchObject({
      gpu_troubles: [
        {
          gpu: 0,
          kind: 'held',
          detail: expect.stringContaining(`process ${childPid} (sleep) remains from job j1`),
        },
      ],
    });
    expect(reports.at(-1)?.body).toMatchObject({ status: 'completed' });
  },
);

describe('a real job', () => {
  it("prints the trainer's output with --verbose, and leaves after the job", async () => {
    const orchestrator = await startOrchestrator();
    const trainer = `${process.execPath} -e 'console.log(JSON.stringify({type:"progress",step:3,total_steps:4})); console.log("trained")'`;
    const { exit, waitForLog, logged, home } = startWorker({
      'orchestrator-url': orchestrator.url,
      trainer,
      verbose: true,
    });
    await waitForLog('Connected to');
    orchestrator.push(offerOf('j1', 'a1', { config: { lr: 1 } }));
    expect(await exit).toBe(0);
    expect(logged).toContain('| trained');
    expect((await orchestrator.reported('completed')).body).toMatchObject({
      exit_code: 0,
      progress: { step: 3, total_steps: 4 },
    });
    const state = join(home, 'trainyard/rig-3');
    expect(readFileSync(join(state, 'jobs/j1/trainer.log'), 'utf8')).toContain('trained\n');
    expect(readdirSync(join(state, 'runs'))).toEqual([]);
    expect(existsSync(join(state, 'lock'))).toBe(false);
  });

  it('finishes the job after the first signal, and stops the job after a second signal', async () => {
    const orchestrator = await startOrchestrator();
    const flags = {
      'orchestrator-url': orchestrator.url,
      trainer: endlessTrainer,
      verbose: true,
      persistent: true,
    };
    const { exit, waitForLog, logged, signal } = startWorker({ ...flags, gpus: '1' }, twoGpus);
    await waitForLog('Connected to');
    orchestrator.push(offerOf('j1', 'a1'));
    expect(await waitForLog('| ready')).toBe('| ready 1');
    signal('SIGTERM');
    expect(logged.at(-1)).toBe('Leaving when the job is done; a second signal stops it now');
    signal('SIGINT');
    expect(logged.at(-1)).toBe('Stopping now');
    expect(await exit).toBe(0);
    expect((await orchestrator.reported('failed')).body).toMatchObject({
      cause: 'preempted',
      signal: 'SIGTERM',
    });
  });
});

describe('--leave-with-parent', () => {
  it('with --leave-with-parent, leaves its training to the guard when its parent process ends', async () => {
    const orchestrator = await startOrchestrator();
    const flags = {
      'orchestrator-url': orchestrator.url,
      trainer: endlessTrainer,
      verbose: true,
      persistent: true,
    };
    const { exit, waitForLog, logged, endInput, home } = startWorker({ ...flags, 'leave-with-parent': true });
    await waitForLog('Connected to');
    orchestrator.push(offerOf('j1', 'a1'));
    await waitForLog('| ready');
    const run = { path: join(home, 'trainyard/rig-3/runs/a1') };
    onTestFinished(() => endTraining(run));
    endInput();
    expect(await exit).toBe(0);
    expect(logged.at(-1)).toMatch(/^Leaving now: the training goes on/);
    expect(existsSync(run.path)).toBe(true);
    expect(readExit(run)).toBeNull();
  });

  it('with --leave-with-parent, disconnects an idle worker when its parent process ends', async () => {
    const orchestrator = await startOrchestrator();
    const { exit, waitForLog, endInput } = startWorker({
      'orchestrator-url': orchestrator.url,
      persistent: true,
      'leave-with-parent': true,
    });
    await waitForLog('Connected to');
    endInput();
    expect(await exit).toBe(0);
    await orchestrator.nth('disconnect');
  });

  it('keeps running without --leave-with-parent when its parent process ends', async () => {
    const orchestrator = await startOrchestrator();
    const flags = {
      'orchestrator-url': orchestrator.url,
      trainer: endlessTrainer,
      verbose: true,
      persistent: true,
    };
    const { waitForLog, endInput } = startWorker(flags);
    await waitForLog('Connected to');
    endInput();
    orchestrator.push(offerOf('j1', 'a1'));
    expect(await waitForLog('| ready')).toMatch(/ready/);
  });
});

it('reads a new token from its token file on SIGHUP', async () => {
  const folder = tempFolder();
  const path = writeFile(folder, 'token', 'wt_1');
  const orchestrator = await startOrchestrator();
  const flags = {
    'orchestrator-url': orchestrator.url,
    'worker-token': undefined,
    'worker-token-file': path,
  };
  const { exit, waitForLog, logged, signal } = startWorker(flags);
  await waitForLog('Connected to');
  signal('SIGHUP');
  expect(logged.at(-1)).toMatch(/^Connected to/);
  writeFile(folder, 'token', 'wt_2');
  signal('SIGHUP');
  expect(logged.at(-1)).toBe(`Took the new token from ${path}`);
  signal('SIGTERM');
  expect(await exit).toBe(0);
  expect((await orchestrator.nth('disconnect')).token).toBe('wt_2');
});

describe('join tokens', () => {
  const generatedToken = /^wt_[\w-]{43}$/;

  it('joins, registers with the created worker token, and needs no given token after a restart', async () => {
    const orchestrator = await startOrchestrator();
    const flags = { 'orchestrator-url': orchestrator.url, 'state-dir': tempFolder() };
    const first = startWorker({ ...flags, 'worker-token': 'tj_1' });
    await first.waitForLog('Connected to');
    expect((await orchestrator.nth('join')).token).toBe('tj_1');
    const { token } = await orchestrator.nth('register');
    expect(token).toMatch(generatedToken);
    first.signal('SIGTERM');
    expect(await first.exit).toBe(0);

    const second = startWorker({ ...flags, 'worker-token': undefined });
    await second.waitForLog('Connected to');
    expect((await orchestrator.nth('register', 2)).token).toBe(token);
    expect(orchestrator.count('join')).toBe(1);
    for (const { logged } of [first, second]) expect(logged.join('\n')).not.toMatch(/tj_1|wt_/);
  });

  it("exits with 3 and the server's reason when the join token is refused", async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.join = () => refused(401);
    const { exit, logged } = startWorker({ 'orchestrator-url': orchestrator.url, 'worker-token': 'tj_1' });
    expect(await exit).toBe(3);
    expect(logged.at(-1)).toBe('Invalid token: refused with 401');
    expect(orchestrator.count('register')).toBe(0);
  });

  it('exits with 2 and a message about the missing token on a machine that never joined', async () => {
    const { exit, logged } = startWorker({ 'worker-token': undefined });
    expect(await exit).toBe(2);
    expect(logged).toEqual([
      'The worker token is missing. Set --worker-token-file FILE, --worker-token TOKEN or SIMPLETUNER_WORKER_TOKEN to a worker token or join token',
    ]);
  });

  it('exits with 2 when the stored token is damaged and no token is given', async () => {
    const dir = tempFolder();
    writeFile(dir, 'token', 'x');
    const { exit, logged } = startWorker({ 'worker-token': undefined, 'state-dir': dir });
    expect(await exit).toBe(2);
    expect(logged).toEqual([expect.stringContaining('is damaged')]);
  });

  it('joins on SIGHUP with a join token in its token file, and continues with the created worker token', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const orchestrator = await startOrchestrator();
    const flags = { 'worker-token': undefined, 'worker-token-file': path };
    const { exit, waitForLog, signal } = startWorker({ 'orchestrator-url': orchestrator.url, ...flags });
    await waitForLog('Connected to');
    writeFile(folder, 'token', 'tj_1');
    signal('SIGHUP');
    await waitForLog('Joined as rig-3');
    signal('SIGTERM');
    expect(await exit).toBe(0);
    expect((await orchestrator.nth('disconnect')).token).toMatch(generatedToken);
  });

  it('exits on SIGTERM while joining an unreachable server', async () => {
    const { exit, waitForLog, signal } = startWorker({
      'orchestrator-url': await closedPortUrl(),
      'worker-token': 'tj_1',
    });
    await waitForLog('Connection refused');
    signal('SIGTERM');
    expect(await exit).toBe(0);
  });
});
