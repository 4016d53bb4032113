/** The app with an orchestrator of its own: notifications, the question at quitting, and work in the background. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

const cli = fileURLToPath(new URL('../../main/cli.ts', import.meta.url));

interface Own {
  readonly call: (method: string, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly url: string;
  /** Starts a worker whose jobs run until the file `release` exists or the test ends. */
  readonly rig: (name: string) => Promise<ChildProcess>;
  readonly submit: (name: string) => Promise<string>;
}

const programs: ChildProcess[] = [];
test.afterEach(({ dataDir }) => {
  // Trainings survive their worker, so end them through their file.
  writeFileSync(join(dataDir, 'release'), '');
  for (const program of programs.splice(0)) program.kill('SIGKILL');
});

function ownOf(dataDir: string): Own {
  const url = readFileSync(join(dataDir, 'url'), 'utf8').trim();
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const call: Own['call'] = async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Readonly<Record<string, unknown>>;
  };
  return {
    url,
    call,
    async rig(name) {
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
      const program = spawn(process.execPath, [cli, ...args], {
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
    submit: async name =>
      String(
        (await call('POST', '/api/queue/submit', { config_name: name, config: {}, target: 'worker' }))[
          'job_id'
        ],
      ),
  };
}

/** Script of a trainer that reports progress until the file exists, and at most for a limited time. */
const stubTrainer = (file: string): string => `
import { existsSync } from 'node:fs';
console.log('Steps:  41%|####      | 41/100 [00:01<00:02, 41.00it/s, lr=1e-05, step_loss=0.5]');
const began = Date.now();
const timer = setInterval(() => {
  if (!existsSync(${JSON.stringify(file)}) && Date.now() - began < 60_000) return;
  clearInterval(timer);
}, 100);
`;

const trayOf = async ({ inspect }: App): Promise<string> => (await inspect()).tray.join(' | ');

test.describe('with its own orchestrator', { tag: ['@embedded', '@stand-in'] }, () => {
  test('shows a job in the tray from start to end, notifies, and keeps the computer awake', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    await expect(app.page.getByText('Live')).toBeVisible();
    await expect.poll(() => trayOf(app)).toMatch(/^This computer: no workers, no jobs running/);
    expect((await app.inspect()).blockers).toBe(0);
    const own = ownOf(dataDir);
    await own.rig('rig-1');
    const id = await own.submit('flux-lora');
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
    await expect(app.page).toHaveURL(`${own.url}/jobs/${id}`);
  });

  test('asks before quitting while a job runs, and stops its orchestrator afterwards', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    const own = ownOf(dataDir);
    await own.rig('rig-1');
    await own.submit('sdxl-lora');
    await expect.poll(() => trayOf(app), { timeout: 30_000 }).toMatch(/sdxl-lora/);
    await app.order({ do: 'tray', label: 'Quit Trainyard…' });
    await expect.poll(async () => (await app.inspect()).questions).toHaveLength(1);
    const { questions } = await app.inspect();
    expect(questions[0]?.message).toBe('Quit while 1 job is running?');
    expect(questions[0]?.detail).toMatch(/workers keep training/);
    // The user cancelled the quit, so the orchestrator still runs.
    expect((await fetch(`${own.url}/health/live`)).status).toBe(200);
    await app.order({ do: 'answer', with: 0 });
    await app.order({ do: 'menu', label: 'Quit Trainyard…' });
    expect(await app.exited).toBe(0);
    await expect(fetch(`${own.url}/health/live`)).rejects.toThrow();
    // After an orderly stop, no file contains the server's address, and the job resumes at the next start.
    expect(existsSync(join(dataDir, 'url'))).toBe(false);
  });

  test('keeps running when the window closes, and notifies about it only once', async ({
    dataDir,
    start,
  }) => {
    const app = await start({ dataDir });
    await expect(app.page.getByText('Live')).toBeVisible();
    expect((await app.inspect()).isVisible).toBe(true);
    for (let times = 0; times < 2; times += 1) {
      await app.order({ do: 'menu', label: 'Close window' });
      await expect.poll(async () => (await app.inspect()).isVisible).toBe(false);
      await app.order({ do: 'tray', label: 'Open Trainyard' });
      await expect.poll(async () => (await app.inspect()).isVisible).toBe(true);
    }
    expect((await app.inspect()).notifications.map(({ title }) => title)).toEqual([
      'Trainyard is still running',
    ]);
    expect((await fetch(`${ownOf(dataDir).url}/health/live`)).status).toBe(200);
  });

  test('notifies when a worker with a job stops responding, and opens that worker', async ({
    dataDir,
    start,
  }) => {
    const app = await startWithShortSilence(dataDir, start);
    const own = ownOf(dataDir);
    const rig = await own.rig('rig-lost');
    await own.submit('portraits');
    await expect.poll(() => trayOf(app), { timeout: 30_000 }).toMatch(/portraits/);
    rig.kill('SIGSTOP');
    await expect
      .poll(async () => (await app.inspect()).notifications, { timeout: 30_000 })
      .toEqual([{ title: 'Worker rig-lost stopped responding', body: 'Its job: portraits' }]);
    await app.order({ do: 'notification', at: 0 });
    await expect(app.page).toHaveURL(/\/workers\/w_\w+$/);
  });

  test("marks no worker offline because of the computer's sleep", async ({ dataDir, start }) => {
    const app = await startWithShortSilence(dataDir, start);
    const own = ownOf(dataDir);
    const rig = await own.rig('rig-asleep');
    await own.rig('rig-awake');
    const worker = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
      const { workers } = await own.call('GET', '/api/admin/workers');
      const all = workers as readonly Readonly<Record<string, unknown>>[];
      return all.find(each => each['name'] === name) ?? {};
    };
    const status = async (): Promise<unknown> => (await worker('rig-asleep'))['status'];
    /** Returns the time of the last heartbeat by the orchestrator's clock, which decides when a worker times out. */
    const beatAt = async (): Promise<number> =>
      Date.parse(String((await worker('rig-awake'))['last_heartbeat']));
    await expect.poll(status, { timeout: 30_000 }).toBe('idle');
    await expect.poll(async () => (await worker('rig-awake'))['status'], { timeout: 30_000 }).toBe('idle');
    rig.kill('SIGSTOP');
    const began = await beatAt();
    // Each heartbeat is answered by simulating that the computer wakes up, which restarts the timeout.
    for (let last = began; last < began + 3 * silenceS * 1_000; last = await beatAt()) {
      await app.order({ do: 'emit', on: 'powerMonitor', event: 'resume', args: [] });
      expect(await status()).not.toBe('offline');
      await expect.poll(beatAt, { intervals: [50] }).toBeGreaterThan(last);
    }
    await expect.poll(status, { timeout: 30_000 }).toBe('offline');
  });
});

const silenceS = 4;

async function startWithShortSilence(
  dataDir: string,
  start: (started: { readonly dataDir: string; readonly args: readonly string[] }) => Promise<App>,
): Promise<App> {
  const file = join(dataDir, 'short.json');
  writeFileSync(file, JSON.stringify({ 'heartbeat-timeout': silenceS }));
  const app = await start({ dataDir, args: ['--config', file] });
  await expect(app.page.getByText('Live')).toBeVisible();
  return app;
}
