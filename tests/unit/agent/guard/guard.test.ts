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
import { runGuardCommand } from '../../../../agent/cli/guard-command.ts';
import {
  holdRoom,
  inNeed,
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
import { guardHere, launching, processes, runToEnd, taskOf } from '../guard-bench.ts';
import { lives, until, untilGone } from '../guard-rig.ts';

const stay = `console.log('ready'); setInterval(() => {}, 1000);`;
const deaf = `process.on('SIGTERM', () => console.log('asked')); ${stay}`;
const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** Starts a guard and waits until its trainer is recorded and its log exists. */
async function startGuard(script: string, options: Parameters<typeof guardHere>[1] = {}) {
  const job = scriptJob(tempFolder(), script);
  const guard = guardHere(job, options);
  const trainer = await until(() => readTrainer(guard.run));
  await until(() => (existsSync(job.logFile) ? true : null));
  return { ...guard, job, trainer };
}

/** A clock of the machine in the test's hands. */
const machine = (now = 1_000_000) => {
  const clock = {
    now,
    asked: 0,
    uptime: () => {
      clock.asked += 1;
      return clock.now;
    },
  };
  return clock;
};
const stopTask = (sentAt: number, parts = {}) => ({
  onLostContact: 'stop' as const,
  contact: { sentAt, timeoutMs: 4_000, graceMs: 300, ...parts },
});

describe('the folder of a run', () => {
  it('is for its owner alone, and says who guards and who trains', async () => {
    const { run, trainer } = await startGuard(stay);
    expect(readGuard(run)).toEqual(await processes.identify(process.pid));
    expect(await processes.identify(trainer.pid)).toEqual(trainer);
    expect(modeOf(run.path)).toBe(0o700);
    for (const name of readdirSync(run.path)) expect(modeOf(join(run.path, name))).toBe(0o600);
    expect(readdirSync(run.path)).toEqual(expect.arrayContaining(['exit.room', 'report.room', 'stop.room']));
  });

  it('that is taken away takes its training with it, and is not made again', async () => {
    const { run, trainer, done } = await startGuard(stay);
    rmSync(run.path, { recursive: true });
    expect(await done).toBe(0);
    expect(await lives(trainer)).toBe(false);
    expect(existsSync(run.path)).toBe(false);
  });

  it.each([
    ['by another guard', { pid: 7, start: 't7' }],
    ['by an agent that has called it off', null],
  ])('is taken once: not any more %s', async (_what, first) => {
    const folder = tempFolder();
    const job = scriptJob(
      folder,
      `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
    );
    const run = { path: tempFolder() };
    takeRun(run, first);
    expect(await guardHere(job, { run }).done).toBe(4);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    expect(readExit(run)).toBeNull();
  });

  it.each(['', '{}', '{"jobId":"j1"}', '[]', 'null', '{"jobId":"../x","attemptId":"a1"}'])(
    'that holds %j and no task is refused, in one line',
    async text => {
      const run = { path: tempFolder() };
      writeFileSync(join(run.path, 'task.json'), text);
      const said: string[] = [];
      const invocation = { env: {}, onSignal: () => {}, err: (line: string) => void said.push(line) };
      expect(await runGuardCommand(run.path, invocation)).toBe(1);
      expect(said).toEqual([`${run.path} holds no task: guards are started by the worker alone\n`]);
      expect(readdirSync(run.path)).toEqual(['task.json']);
    },
  );

  it.each(['argv', 'cwd', 'logFile', 'configName', 'contact'])('without %s holds no task', key => {
    const run = { path: tempFolder() };
    const task = taskOf(scriptJob('/nowhere', ''));
    writeTask(run, task);
    expect(readTask(run)).toEqual(task);
    writeFileSync(join(run.path, 'task.json'), JSON.stringify({ ...task, [key]: undefined }));
    expect(readTask(run)).toBeNull();
  });
});

describe('on a disk that takes nothing more', () => {
  const full = (): never => {
    throw new Error('ENOSPC');
  };
  const exit = { code: 3, signal: null, stopped: null, startError: null, tail: 'ü'.repeat(2_000) };

  it('the last words go into the room that was held for them', () => {
    const run = { path: tempFolder() };
    holdRoom(run);
    const { ino } = statSync(join(run.path, 'exit.room'));
    inNeed(run, 'exit', full, JSON.stringify(exit));
    expect(readExit(run)).toEqual(exit);
    expect(statSync(join(run.path, 'exit.json')).ino).toBe(ino);
    expect(modeOf(join(run.path, 'exit.json'))).toBe(0o600);
  });

  it('what needs more room than that, or finds none, is an error', () => {
    const run = { path: tempFolder() };
    expect(() => inNeed(run, 'stop', full, '{}')).toThrow('ENOENT');
    holdRoom(run);
    expect(() => inNeed(run, 'stop', full, 'ü'.repeat(2_049))).toThrow('ENOSPC');
    expect(existsSync(join(run.path, 'stop.json'))).toBe(false);
  });
});

describe('the end of a run', () => {
  it('is written when it can be: a disk that takes nothing now may do so later', async () => {
    const { run, done, signal, exit, trainer } = await startGuard(stay);
    const inTheWay = join(run.path, 'exit.json');
    mkdirSync(inTheWay);
    signal('SIGTERM');
    await untilGone(trainer);
    rmdirSync(inTheWay);
    expect(await exit()).toMatchObject({ signal: 'SIGTERM', stopped: null });
    expect(await done).toBe(0);
  });

  it('by a signal to the guard itself is nobody’s order, and SIGHUP is none at all', async () => {
    const { signal, exit, trainer } = await startGuard(stay);
    signal('SIGHUP');
    expect(await lives(trainer)).toBe(true);
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

describe('a run that must not outlive its contact', () => {
  it('goes on as long as calls are answered, and is stopped T after the last of them was sent', async () => {
    const clock = machine();
    const { run, exit, trainer } = await startGuard(stay, {
      uptime: clock.uptime,
      task: stopTask(clock.now),
    });
    clock.now += 3_000;
    writeContact(run, { sentAt: clock.now, timeoutMs: 4_000, graceMs: 300 });
    // It looks at the clock as often as into the folder.
    const asked = clock.asked;
    await until(() => (clock.asked >= asked + 3 ? true : null));
    clock.now += 3_500;
    expect(await lives(trainer)).toBe(true);
    clock.now += 500;
    expect(await exit()).toMatchObject({ signal: 'SIGTERM', stopped: 'lost_contact' });
  });

  it('is not helped by older words, or by half of one', async () => {
    const clock = machine();
    const { run, exit } = await startGuard(stay, { uptime: clock.uptime, task: stopTask(clock.now) });
    writeContact(run, { sentAt: clock.now - 1, timeoutMs: 1_000_000, graceMs: 300 });
    writeFileSync(join(run.path, 'contact.json'), '{"sentAt":99999999,"timeou');
    clock.now += 4_000;
    expect(await exit()).toMatchObject({ stopped: 'lost_contact' });
  });

  it('gets SIGKILL after the grace, and at once when the machine slept through that, too', async () => {
    const clock = machine();
    const { exit } = await startGuard(deaf, {
      uptime: clock.uptime,
      task: stopTask(clock.now, { graceMs: 3_600_000 }),
    });
    clock.now += 4_000 + 3_600_000;
    expect(await exit()).toMatchObject({ signal: 'SIGKILL', stopped: 'lost_contact' });
  });

  it('is not even started when contact is over before that', async () => {
    const clock = machine();
    const folder = tempFolder();
    const job = scriptJob(
      folder,
      `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
    );
    const { exit } = await runToEnd(job, { uptime: clock.uptime, task: stopTask(clock.now - 4_000) });
    expect(exit).toEqual({ code: null, signal: null, stopped: 'lost_contact', startError: null, tail: '' });
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('is another one than a run that may go on, of which nobody looks at the clock', async () => {
    const clock = machine(1e9);
    const { exit } = await runToEnd(scriptJob(tempFolder(), ''), { uptime: clock.uptime });
    expect([exit.code, clock.asked]).toEqual([0, 0]);
  });
});

describe('the note of contact', () => {
  const contact = { sentAt: 1, timeoutMs: 120_000, graceMs: 30_000 };

  it('is written in place, so that a full disk takes it, and a longer one leaves nothing of the shorter', async () => {
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
  ])('that says %j is none', async text => {
    const run = { path: tempFolder() };
    writeFileSync(join(run.path, 'contact.json'), text);
    expect(await readContact(run)).toBeNull();
  });
});

it('what a guard says when it can not begin is why the job failed', async () => {
  const { startRun } = await import('../../../../agent/attempt/run.ts');
  const run = { path: join(tempFolder(), 'a1') };
  const job = scriptJob(tempFolder(), '');
  // The room that is held for the last words is not to be had.
  mkdirSync(join(run.path, 'exit.room'), { recursive: true });
  const origin = taskOf(job);
  const ears = { onLine: () => {}, onProgress: () => {}, onFigures: () => {} };
  await expect(startRun(job, origin, ears, { ...launching, runOf: () => run })).rejects.toThrow(
    /^its guard could not be started: EISDIR: [^\n]*$/,
  );
  expect(readFileSync(join(run.path, 'guard.err'), 'utf8').split('\n')).toHaveLength(2);
});
