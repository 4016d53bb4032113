// The agents in these tests are small Node scripts.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type LocalWorkerDeps, startLocalWorker } from '../../../../main/host/local-worker.ts';
import type { Clock } from '../../../../main/orchestrator/ports/index.ts';
import { openFolder } from '../../../support/fleet-bench.ts';
import { createNotices } from '../../../support/notices.ts';
import { isAlive, untilDead } from '../../../support/own-processes.ts';

// Agent script that exits when the server closes stdin.
const exitWithInput = 'process.stdin.resume(); process.stdin.on("end", () => process.exit(0));';
// Agent script that prints a line on start, and runs until it is killed.
const keepRunning = 'setInterval(() => {}, 1000); process.stdout.write("here\\n");';

interface Entry {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Opens a local worker whose agents run `script`. Delays between starts end only when the test calls `skipDelay`. */
function open(script: string, overrides: Partial<LocalWorkerDeps> = {}) {
  const folder = join(openFolder(), 'local-worker');
  const notices = createNotices();
  const log: Entry[] = [];
  const record = (event: string, fields = {}): void => {
    log.push({ event, ...fields });
    notices.changed();
  };
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const clock: Clock = {
    wall: () => 0,
    mono: () => 0,
    iso: () => '',
    after(ms, run) {
      const timer = { ms, run };
      timers.push(timer);
      notices.changed();
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
  };
  let tokenCount = 0;
  const local = startLocalWorker({
    program: { command: [process.execPath, '-e', script, '--'], env: { ADMIN_TOKEN: 'ta_secret' } },
    settings: { gpus: '0', trainer: null, workDir: null },
    allowConfigScripts: null,
    folder,
    url: 'http://127.0.0.1:1',
    clock,
    log: { info: record, warn: record, error: record },
    issue: () => {
      tokenCount += 1;
      return Promise.resolve({ name: 'here', token: `wt_number-${tokenCount}` });
    },
    ...overrides,
  });
  onTestFinished(() => local.stop());
  const entries = (event: string): readonly Entry[] => log.filter(entry => entry.event === event);
  return {
    ...local,
    folder,
    log,
    timers,
    entries,
    nthEntry: (event: string, n = 1) =>
      notices.waitFor(`entry ${n} of ${event}`, () => entries(event)[n - 1]),
    // Ends the current delay and returns its length in ms.
    skipDelay: async () => {
      const timer = await notices.waitFor('a delay', () => timers[0]);
      timer.run();
      return timer.ms;
    },
  };
}

test('starts the local worker with a private settings file and the token in its environment', async () => {
  const printStart = 'console.log(JSON.stringify([process.argv.slice(1), process.env]));';
  const fixture = open(`${exitWithInput} ${keepRunning} ${printStart}`);
  const { line } = await fixture.nthEntry('local_worker.said', 2);
  const [argv, env] = JSON.parse(String(line)) as [string[], Record<string, string>];
  const file = join(fixture.folder, 'worker.json');
  expect(argv).toEqual(['--config', file]);
  expect(env['SIMPLETUNER_WORKER_TOKEN']).toBe('wt_number-1');
  expect(env).not.toHaveProperty('ADMIN_TOKEN');
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  expect((statSync(fixture.folder).mode & 0o777).toString(8)).toBe('700');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    'orchestrator-url': 'http://127.0.0.1:1',
    name: 'here',
    'state-dir': fixture.folder,
    gpus: '0',
  });
  for (const name of readdirSync(fixture.folder))
    expect(readFileSync(join(fixture.folder, name), 'utf8')).not.toContain('wt_');
  expect(JSON.stringify([fixture.entries('local_worker.started')])).not.toContain('wt_');
});

test('stops the local worker by closing its input, and waits for its exit', async () => {
  const fixture = open(`${exitWithInput} ${keepRunning}`);
  const { pid } = await fixture.nthEntry('local_worker.started');
  await fixture.nthEntry('local_worker.said');
  expect(isAlive(Number(pid))).toBe(true);
  await fixture.stop();
  expect(isAlive(Number(pid))).toBe(false);
  expect(fixture.entries('local_worker.ended')).toMatchObject([{ exit_code: 0, signal: null }]);
  expect(fixture.entries('local_worker.starts_again')).toEqual([]);
  expect(fixture.timers).toEqual([]);
});

test('kills a local worker that does not stop in time', async () => {
  const fixture = open(keepRunning);
  const { pid } = await fixture.nthEntry('local_worker.started');
  await fixture.nthEntry('local_worker.said');
  const stopped = fixture.stop();
  expect(await fixture.skipDelay()).toBeLessThan(1_000);
  await stopped;
  await untilDead(Number(pid));
  expect(fixture.entries('local_worker.ended')).toMatchObject([{ exit_code: null, signal: 'SIGKILL' }]);
});

test('restarts a dead local worker with the same token after growing delays', async () => {
  const fixture = open(
    'console.log(process.env.SIMPLETUNER_WORKER_TOKEN); process.kill(process.pid, "SIGKILL");',
  );
  expect([await fixture.skipDelay(), await fixture.skipDelay(), await fixture.skipDelay()]).toEqual([
    1_000, 2_000, 4_000,
  ]);
  await fixture.nthEntry('local_worker.said', 3);
  for (const { line } of fixture.entries('local_worker.said')) expect(line).toBe('wt_number-1');
  expect(fixture.entries('local_worker.ended')[0]).toMatchObject({ exit_code: null, signal: 'SIGKILL' });
});

test('issues a new token after the server refused the old token', async () => {
  const fixture = open(
    `if (process.env.SIMPLETUNER_WORKER_TOKEN.endsWith('-1')) process.exit(3); ${exitWithInput} ${keepRunning}`,
  );
  expect(await fixture.skipDelay()).toBe(1_000);
  await fixture.nthEntry('local_worker.said');
  expect(fixture.entries('local_worker.ended')).toMatchObject([{ exit_code: 3 }]);
});

test('logs local_worker.not_started when the program cannot be started, and retries', async () => {
  const fixture = open('', { program: { command: ['/nowhere/trainyard'], env: {} } });
  expect([await fixture.skipDelay(), await fixture.skipDelay()]).toEqual([1_000, 2_000]);
  expect(String((await fixture.nthEntry('local_worker.not_started'))['cause'])).toContain('ENOENT');
});

test('logs local_worker.not_started when the folder cannot be created, and retries', async () => {
  const file = join(openFolder(), 'file');
  writeFileSync(file, '');
  const fixture = open(`${exitWithInput} ${keepRunning}`, { folder: join(file, 'local-worker') });
  expect(await fixture.skipDelay()).toBe(1_000);
  expect(String((await fixture.nthEntry('local_worker.not_started'))['cause'])).toContain(
    'cannot be created',
  );
});

test('does not start the local worker until a token can be issued', async () => {
  let isFull = true;
  const issue = () =>
    isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve({ name: 'here', token: 'wt_1' });
  const fixture = open(`${exitWithInput} ${keepRunning}`, { issue });
  expect(String((await fixture.nthEntry('local_worker.not_started'))['cause'])).toContain('the disk is full');
  expect(existsSync(fixture.folder)).toBe(false);
  isFull = false;
  await fixture.skipDelay();
  await fixture.nthEntry('local_worker.said');
});

test('stops immediately during a restart delay and while a token is being issued', async () => {
  const duringDelay = open('process.exit(1)');
  await duringDelay.nthEntry('local_worker.starts_again');
  await duringDelay.stop();
  expect(duringDelay.entries('local_worker.started')).toHaveLength(1);

  const issued = Promise.withResolvers<{ readonly name: string; readonly token: string }>();
  const duringIssue = open(`${exitWithInput} ${keepRunning}`, { issue: () => issued.promise });
  const stopped = duringIssue.stop();
  issued.resolve({ name: 'here', token: 'wt_1' });
  await stopped;
  expect(duringIssue.log).toEqual([]);
});

test('does not restart a retired local worker', async () => {
  const fixture = open(
    `process.on('SIGTERM', () => { console.log('leaves'); process.exit(0); }); ${keepRunning}`,
  );
  await fixture.nthEntry('local_worker.said');
  await fixture.retire();
  expect(fixture.entries('local_worker.said').map(({ line }) => line)).toContain('leaves');
  expect(fixture.entries('local_worker.ended')).toMatchObject([{ exit_code: 0, signal: null }]);
  expect(fixture.entries('local_worker.starts_again')).toEqual([]);
});

test('retires a local worker immediately during a restart delay', async () => {
  const fixture = open('process.exit(1)');
  await fixture.nthEntry('local_worker.starts_again');
  await fixture.retire();
  expect(fixture.entries('local_worker.started')).toHaveLength(1);
  expect(fixture.timers).toEqual([]);
});

test('stops a local worker that is slow to retire', async () => {
  const fixture = open(`process.on('SIGTERM', () => console.log('later')); ${exitWithInput} ${keepRunning}`);
  await fixture.nthEntry('local_worker.said');
  const retired = fixture.retire();
  await fixture.nthEntry('local_worker.said', 2);
  await fixture.stop();
  await retired;
  expect(fixture.entries('local_worker.ended')).toMatchObject([{ exit_code: 0 }]);
});
