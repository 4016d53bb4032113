/** The app with an embedded orchestrator: notifications, the confirmation before quitting, and jobs in the background. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { cliFile } from '../support/program-files.ts';
import { type App, test } from '../support/desktop/driver.ts';

/** The orchestrator in the app. */
interface EmbeddedOrchestrator {
  readonly call: (method: string, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly url: string;
  /** Starts a worker whose jobs run until the file `release` exists or the test ends. */
  readonly startRig: (name: string) => Promise<ChildProcess>;
  readonly submit: (name: string) => Promise<string>;
}

const programs: ChildProcess[] = [];
test.afterEach(({ dataDir }) => {
  // A training survives the kill of its worker, so end it through the file.
  writeFileSync(join(dataDir, 'release'), '');
  for (const program of programs.splice(0)) program.kill('SIGKILL');
});

function connectTo(dataDir: string): EmbeddedOrchestrator {
  const url = readFileSync(join(dataDir, 'url'), 'utf8').trim();
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const call: EmbeddedOrchestrator['call'] = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  return {
    url,
    call,
    async startRig(name) {
      const { token: workerToken } = await call('POST', '/api/admin/workers', { name });
      const home = join(dataDir, 'rigs', name);
      const trainer = `${process.execPath} ${join(dataDir, 'trainer.mjs')} {config_path}`;
      writeFileSync(join(dataDir, 'trainer.mjs'), stubTrainer(join(dataDir, 'release')));
      const args = [
        'worker',
        '--orchestrator-url',
        url,
        '--name',
        name,
        '--persistent',
        '--trainer',
        trainer,
      ];
      const program = spawn(process.execPath, [cliFile, ...args], {
        env: {
          ...process.env,
          XDG_CONFIG_HOME: home,
          XDG_STATE_HOME: home,
          SIMPLETUNER_WORKER_TOKEN: String(workerToken),
        },
        stdio: 'ignore',
      });
      programs.push(program);
      return program;
    },
    async submit(name) {
      const job = { config_name: name, config: {}, target: 'worker' };
      return String((await call('POST', '/api/queue/submit', job))['job_id']);
    },
  };
}

/** Returns the script of a trainer that prints one line of progress. It ends when the file exists, or after a minute. */
const stubTrainer = (file: string): string => `
import { existsSync } from 'node:fs';
console.log('Steps:  41%|####      | 41/100 [00:01<00:02, 41.00it/s, lr=1e-05, step_loss=0.5]');
const startedAt = Date.now();
const timer = setInterval(() => {
  if (!existsSync(${JSON.stringify(file)}) && Date.now() - startedAt < 60_000) return;
  clearInterval(timer);
}, 100);
`;

const trayOf = async ({ inspect }: App): Promise<string> => (await inspect()).tray.join(' | ');

test.describe('the app with an embedded orchestrator', { tag: ['@embedded', '@stand-in'] }, () => {
  test('shows a running job in the tray, keeps the computer awake during the job, and notifies when the job completes', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    await expect(app.page.getByText('Live')).toBeVisible();
    await expect.poll(() => trayOf(app)).toMatch(/^This computer: no workers, no jobs running/);
    expect((await app.inspect()).blockers).toBe(0);
    const orchestrator = connectTo(dataDir);
    await orchestrator.startRig('rig-1');
    const id = await orchestrator.submit('flux-lora');
    await expect
      .poll(() => trayOf(app), { timeout: 30_000 })
      .toMatch(/1 worker, 1 job running \| flux-lora {2}41 %/);
    expect(await app.inspect()).toMatchObject({
      blockers: 1,
      tooltip: expect.stringContaining('1 job running'),
    });

    await app.order({ do: 'tray', label: 'Pause queue' });
    await expect.poll(() => trayOf(app)).toMatch(/queue paused.*Resume queue/);
    await app.order({ do: 'tray', label: 'Resume queue' });
    await expect.poll(() => trayOf(app)).not.toMatch(/queue paused/);

    writeFileSync(join(dataDir, 'release'), '');
    await expect
      .poll(async () => (await app.inspect()).notifications, { timeout: 30_000 })
      .toEqual([{ title: 'Job completed', body: 'flux-lora' }]);
    expect((await app.inspect()).blockers).toBe(0);
    await app.order({ do: 'notification', at: 0 });
    await expect(app.page).toHaveURL(`${orchestrator.url}/jobs/${id}`);
  });

  test('shows the progress of a job on the taskbar only when the job runs on this computer', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    await expect(app.page.getByText('Live')).toBeVisible();
    const orchestrator = connectTo(dataDir);
    expect((await app.inspect()).progress).toBe(-1);
    // The taskbar does not show the progress of a job on another worker.
    await orchestrator.startRig('rig-1');
    await orchestrator.submit('elsewhere');
    await expect.poll(() => trayOf(app), { timeout: 30_000 }).toMatch(/elsewhere {2}41 %/);
    expect((await app.inspect()).progress).toBe(-1);
    const trainer = `${process.execPath} ${join(dataDir, 'trainer.mjs')} {config_path}`;
    await orchestrator.call('PATCH', '/api/settings', { local_worker: { enabled: true, trainer } });
    const job = { config_name: 'here', config: {}, target: 'local' };
    await orchestrator.call('POST', '/api/queue/submit', job);
    await expect.poll(async () => (await app.inspect()).progress, { timeout: 30_000 }).toBe(0.41);
    writeFileSync(join(dataDir, 'release'), '');
    await expect.poll(async () => (await app.inspect()).progress, { timeout: 30_000 }).toBe(-1);
  });

  test('asks for confirmation before quitting while a job runs, and then stops the embedded orchestrator', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    const orchestrator = connectTo(dataDir);
    await orchestrator.startRig('rig-1');
    await orchestrator.submit('sdxl-lora');
    await expect.poll(() => trayOf(app), { timeout: 30_000 }).toMatch(/sdxl-lora/);
    await app.order({ do: 'tray', label: 'Quit Trainyard…' });
    await expect.poll(async () => (await app.inspect()).questions).toHaveLength(1);
    const { questions } = await app.inspect();
    expect(questions[0]?.message).toBe('Quit while 1 job is running?');
    expect(questions[0]?.detail).toMatch(/workers keep training/);
    // The user cancelled the quit, so the orchestrator still runs.
    expect((await fetch(`${orchestrator.url}/health/live`)).status).toBe(200);
    await app.order({ do: 'answer', with: 0 });
    await app.order({ do: 'menu', label: 'Quit Trainyard…' });
    expect(await app.exited).toBe(0);
    await expect(fetch(`${orchestrator.url}/health/live`)).rejects.toThrow();
    // An orderly stop removes the file with the server's address.
    expect(existsSync(join(dataDir, 'url'))).toBe(false);
  });

  test('keeps running when the user closes the window, and notifies about this only once', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    await expect(app.page.getByText('Live')).toBeVisible();
    expect((await app.inspect()).isVisible).toBe(true);
    for (const _round of [1, 2]) {
      await app.order({ do: 'menu', label: 'Close window' });
      await expect.poll(async () => (await app.inspect()).isVisible).toBe(false);
      await app.order({ do: 'tray', label: 'Open Trainyard' });
      await expect.poll(async () => (await app.inspect()).isVisible).toBe(true);
    }
    expect((await app.inspect()).notifications.map(({ title }) => title)).toEqual([
      'Trainyard is still running',
    ]);
    expect((await fetch(`${connectTo(dataDir).url}/health/live`)).status).toBe(200);
  });

  test('notifies when a worker with a job stops responding, and opens the worker after a click', async ({
    dataDir,
    start,
  }) => {
    const app = await startWithShortTimeout(dataDir, start);
    const orchestrator = connectTo(dataDir);
    const rig = await orchestrator.startRig('rig-lost');
    await orchestrator.submit('portraits');
    await expect.poll(() => trayOf(app), { timeout: 30_000 }).toMatch(/portraits/);
    rig.kill('SIGSTOP');
    await expect
      .poll(async () => (await app.inspect()).notifications, { timeout: 30_000 })
      .toEqual([{ title: 'Worker rig-lost stopped responding', body: 'Its job: portraits' }]);
    await app.order({ do: 'notification', at: 0 });
    await expect(app.page).toHaveURL(/\/workers\/w_\w+$/);
  });

  test('does not mark a silent worker as offline while wake-ups of the computer restart the timeout', async ({
    dataDir,
    start,
  }) => {
    const app = await startWithShortTimeout(dataDir, start);
    const orchestrator = connectTo(dataDir);
    const rig = await orchestrator.startRig('rig-asleep');
    await orchestrator.startRig('rig-awake');
    const workerNamed = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
      const { workers } = await orchestrator.call('GET', '/api/admin/workers');
      const all = workers as readonly Readonly<Record<string, unknown>>[];
      return all.find(worker => worker['name'] === name) ?? {};
    };
    const statusOf = async (name: string): Promise<unknown> => (await workerNamed(name))['status'];
    /** Returns the time of the last heartbeat of `rig-awake`, by the orchestrator's clock. */
    const lastHeartbeat = async (): Promise<number> =>
      Date.parse(String((await workerNamed('rig-awake'))['last_heartbeat']));
    await expect.poll(() => statusOf('rig-asleep'), { timeout: 30_000 }).toBe('idle');
    await expect.poll(() => statusOf('rig-awake'), { timeout: 30_000 }).toBe('idle');
    rig.kill('SIGSTOP');
    const firstHeartbeat = await lastHeartbeat();
    const end = firstHeartbeat + 3 * heartbeatTimeoutS * 1_000;
    // Simulate a wake-up of the computer after each heartbeat. A wake-up restarts the timeout of all workers.
    for (let heartbeat = firstHeartbeat; heartbeat < end; heartbeat = await lastHeartbeat()) {
      await app.order({ do: 'emit', on: 'powerMonitor', event: 'resume', args: [] });
      expect(await statusOf('rig-asleep')).not.toBe('offline');
      await expect.poll(lastHeartbeat, { intervals: [50] }).toBeGreaterThan(heartbeat);
    }
    // Without further wake-ups, the worker times out.
    await expect.poll(() => statusOf('rig-asleep'), { timeout: 30_000 }).toBe('offline');
  });
});

const heartbeatTimeoutS = 4;

async function startWithShortTimeout(
  dataDir: string,
  start: (options: { readonly dataDir: string; readonly args: readonly string[] }) => Promise<App>,
): Promise<App> {
  const configFile = join(dataDir, 'short-timeout.json');
  writeFileSync(configFile, JSON.stringify({ 'heartbeat-timeout': heartbeatTimeoutS }));
  const app = await start({ dataDir, args: ['--config', configFile] });
  await expect(app.page.getByText('Live')).toBeVisible();
  return app;
}
