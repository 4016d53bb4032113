import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runGuardCommand } from '../../../../agent/cli/command.ts';
import {
  reserveSpace,
  writeOrUseReserve,
  readContact,
  readExit,
  readGuard,
  readTask,
  readTrainer,
  takeRun,
  writeContact,
  writeTask,
} from '../../../../agent/guard/guard-files.ts';
import { scriptJob, tempFolder } from '../builders.ts';
import { startGuardInProcess, launchDeps, processes, runToEnd, taskOf } from '../guard-fixture.ts';
import { isAlive, until, untilGone } from '../guard-rig.ts';

/** A trainer that runs until it is stopped. */
const stay = `console.log('ready'); setInterval(() => {}, 1000);`;
/** A trainer that ignores SIGTERM. */
const ignoresSigterm = `process.on('SIGTERM', () => console.log('SIGTERM')); ${stay}`;
const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** Starts a guard. Resolves when it has recorded its trainer and created the log. */
async function startGuard(script: string, options: Parameters<typeof startGuardInProcess>[1] = {}) {
  const job = scriptJob(tempFolder(), script);
  const guard = startGuardInProcess(job, options);
  const trainer = await until(() => readTrainer(guard.run));
  await until(() => (existsSync(job.logFile) ? true : null));
  return { ...guard, job, trainer };
}

/** A clock that the test sets. `reads` counts how often the guard reads the clock. */
const createUptimeClock = (now = 1_000_000) => {
  const clock = {
    now,
    reads: 0,
    uptime: () => {
      clock.reads += 1;
      return clock.now;
    },
  };
  return clock;
};
/** The fields of a task that stops on lost contact. The last answered call was sent at `sentAt`. */
const stopTask = (sentAt: number, contact = {}) => ({
  onLostContact: 'stop' as const,
  contact: { sentAt, timeoutMs: 4_000, graceMs: 300, ...contact },
});

describe('run folder', () => {
  it('creates a run folder with private modes and records of the guard and the trainer', async () => {
    const { run, trainer } = await startGuard(stay);
    expect(readGuard(run)).toEqual(await processes.identify(process.pid));
    expect(await processes.identify(trainer.pid)).toEqual(trainer);
    expect(modeOf(run.path)).toBe(0o700);
    for (const name of readdirSync(run.path)) expect(modeOf(join(run.path, name))).toBe(0o600);
    expect(readdirSync(run.path)).toEqual(expect.arrayContaining(['exit.room', 'report.room', 'stop.room']));
  });

  it('ends the training when its run folder is removed, and does not recreate the folder', async () => {
    const { run, trainer, done } = await startGuard(stay);
    rmSync(run.path, { recursive: true });
    expect(await done).toBe(0);
    expect(await isAlive(trainer)).toBe(false);
    expect(existsSync(run.path)).toBe(false);
  });

  it.each([
    ['taken by another guard', { pid: 7, start: 't7' }],
    ['cancelled by an agent', null],
  ])('starts no trainer for a run that was %s', async (_title, owner) => {
    const folder = tempFolder();
    const job = scriptJob(
      folder,
      `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
    );
    const run = { path: tempFolder() };
    takeRun(run, owner);
    expect(await startGuardInProcess(job, { run }).done).toBe(4);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    expect(readExit(run)).toBeNull();
  });

  it.each(['', '{}', '{"jobId":"j1"}', '[]', 'null', '{"jobId":"../x","attemptId":"a1"}'])(
    'rejects the task %j with a one-line error',
    async text => {
      const run = { path: tempFolder() };
      writeFileSync(join(run.path, 'task.json'), text);
      const logLines: string[] = [];
      const invocation = { env: {}, onSignal: () => {}, err: (line: string) => void logLines.push(line) };
      expect(await runGuardCommand(run.path, invocation)).toBe(1);
      expect(logLines).toEqual([`${run.path} contains no task: only the worker starts guards\n`]);
      expect(readdirSync(run.path)).toEqual(['task.json']);
    },
  );

  it.each(['argv', 'cwd', 'logFile', 'configName', 'contact'])('rejects a task without %s', key => {
    const run = { path: tempFolder() };
    const task = taskOf(scriptJob('/nowhere', ''));
    writeTask(run, task);
    expect(readTask(run)).toEqual(task);
    writeFileSync(join(run.path, 'task.json'), JSON.stringify({ ...task, [key]: undefined }));
    expect(readTask(run)).toBeNull();
  });
});

describe('full disk', () => {
  const full = (): never => {
    throw new Error('ENOSPC');
  };
  const exit = { code: 3, signal: null, stopped: null, startError: null, tail: 'ü'.repeat(2_000) };

  it('writes the exit record into reserved space', () => {
    const run = { path: tempFolder() };
    reserveSpace(run);
    const { ino } = statSync(join(run.path, 'exit.room'));
    writeOrUseReserve(run, 'exit', full, JSON.stringify(exit));
    expect(readExit(run)).toEqual(exit);
    expect(statSync(join(run.path, 'exit.json')).ino).toBe(ino);
    expect(modeOf(join(run.path, 'exit.json'))).toBe(0o600);
  });

  it('throws when the reserved space is missing or too small', () => {
    const run = { path: tempFolder() };
    expect(() => writeOrUseReserve(run, 'stop', full, '{}')).toThrow('ENOENT');
    reserveSpace(run);
    expect(() => writeOrUseReserve(run, 'stop', full, 'ü'.repeat(2_049))).toThrow('ENOSPC');
    expect(existsSync(join(run.path, 'stop.json'))).toBe(false);
  });
});

describe('end of a run', () => {
  it('retries the exit record until it can be written', async () => {
    const { run, done, signal, exit, trainer } = await startGuard(stay);
    // A folder with the name of the exit record makes each write fail.
    const blockingFolder = join(run.path, 'exit.json');
    mkdirSync(blockingFolder);
    signal('SIGTERM');
    await untilGone(trainer);
    rmdirSync(blockingFolder);
    expect(await exit()).toMatchObject({ signal: 'SIGTERM', stopped: null });
    expect(await done).toBe(0);
  });

  it('ends the run on SIGTERM to the guard without recording an order, and ignores SIGHUP', async () => {
    const { signal, exit, trainer } = await startGuard(stay);
    signal('SIGHUP');
    expect(await isAlive(trainer)).toBe(true);
    signal('SIGTERM');
    expect(await exit()).toEqual({
      code: null,
      signal: 'SIGTERM',
      stopped: null,
      startError: null,
      tail: 'ready',
    });
  });
});

describe('runs with on_lost_contact: stop', () => {
  it('stops a run when the heartbeat timeout has passed since the last answered call was sent', async () => {
    const clock = createUptimeClock();
    const { run, exit, trainer } = await startGuard(stay, {
      uptime: clock.uptime,
      task: stopTask(clock.now),
    });
    clock.now += 3_000;
    writeContact(run, { sentAt: clock.now, timeoutMs: 4_000, graceMs: 300 });
    // The guard reads the clock each time that it checks its folder.
    const readsBefore = clock.reads;
    await until(() => (clock.reads >= readsBefore + 3 ? true : null));
    clock.now += 3_500;
    expect(await isAlive(trainer)).toBe(true);
    clock.now += 500;
    expect(await exit()).toMatchObject({ signal: 'SIGTERM', stopped: 'lost_contact' });
  });

  it('ignores older and partial contact records', async () => {
    const clock = createUptimeClock();
    const { run, exit } = await startGuard(stay, { uptime: clock.uptime, task: stopTask(clock.now) });
    writeContact(run, { sentAt: clock.now - 1, timeoutMs: 1_000_000, graceMs: 300 });
    writeFileSync(join(run.path, 'contact.json'), '{"sentAt":99999999,"timeou');
    clock.now += 4_000;
    expect(await exit()).toMatchObject({ stopped: 'lost_contact' });
  });

  it('sends SIGKILL after the grace period, also when the machine slept through this period', async () => {
    const clock = createUptimeClock();
    const { exit } = await startGuard(ignoresSigterm, {
      uptime: clock.uptime,
      task: stopTask(clock.now, { graceMs: 3_600_000 }),
    });
    clock.now += 4_000 + 3_600_000;
    expect(await exit()).toMatchObject({ signal: 'SIGKILL', stopped: 'lost_contact' });
  });

  it('starts no trainer when contact was already lost before the start', async () => {
    const clock = createUptimeClock();
    const folder = tempFolder();
    const job = scriptJob(
      folder,
      `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
    );
    const { exit } = await runToEnd(job, { uptime: clock.uptime, task: stopTask(clock.now - 4_000) });
    expect(exit).toEqual({ code: null, signal: null, stopped: 'lost_contact', startError: null, tail: '' });
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('never reads the clock for a run with on_lost_contact: continue', async () => {
    const clock = createUptimeClock(1e9);
    const { exit } = await runToEnd(scriptJob(tempFolder(), ''), { uptime: clock.uptime });
    expect([exit.code, clock.reads]).toEqual([0, 0]);
  });
});

describe('contact record', () => {
  const contact = { sentAt: 1, timeoutMs: 120_000, graceMs: 30_000 };

  it('overwrites a longer contact record in place, and leaves no part of the longer record', async () => {
    const run = { path: tempFolder() };
    const file = join(run.path, 'contact.json');
    writeContact(run, { ...contact, sentAt: 123_456_789.25 });
    const { ino, size } = statSync(file);
    writeContact(run, contact);
    expect(await readContact(run)).toEqual(contact);
    expect(statSync(file)).toMatchObject({ ino, size });
    expect(modeOf(file)).toBe(0o600);
  });

  it.each([
    '',
    '{',
    '{"sentAt":1}',
    '{"sentAt":-1,"timeoutMs":1,"graceMs":1}',
    '{"sentAt":"1","timeoutMs":1,"graceMs":1}',
  ])('rejects the contact record %j', async text => {
    const run = { path: tempFolder() };
    writeFileSync(join(run.path, 'contact.json'), text);
    expect(await readContact(run)).toBeNull();
  });
});

it('reports the output of a guard that cannot start as the cause of the failure', async () => {
  const { startRun } = await import('../../../../agent/attempt/run.ts');
  const run = { path: join(tempFolder(), 'a1') };
  const job = scriptJob(tempFolder(), '');
  // A folder with the name of the file that reserves space makes the guard fail.
  mkdirSync(join(run.path, 'exit.room'), { recursive: true });
  const origin = taskOf(job);
  const listeners = { onLine: () => {}, onProgress: () => {}, onFigures: () => {} };
  await expect(startRun(job, origin, listeners, { ...launchDeps, runOf: () => run })).rejects.toThrow(
    /^its guard could not be started: EISDIR: [^\n]*$/,
  );
  expect(readFileSync(join(run.path, 'guard.err'), 'utf8').split('\n')).toHaveLength(2);
});
