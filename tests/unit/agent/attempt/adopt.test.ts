import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findRun, type Found } from '../../../../agent/attempt/adopt.ts';
import {
  type ExitRecord,
  readStop,
  type RunFolder,
  takeRun,
  writeExit,
  writeStop,
  writeTask,
  writeTrainer,
} from '../../../../agent/guard/guard-files.ts';
import type { LaunchDeps } from '../../../../agent/guard/guard-launch.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import type { Processes } from '../../../../agent/process/processes.ts';
import { openStateFolder } from '../../../../agent/state/state-folder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId, scriptJob, tempFolder } from '../builders.ts';
import { taskOf } from '../guard-fixture.ts';

const guard = { pid: 70, start: 'g' };
const trainer = { pid: 71, start: 't' };
const exit: ExitRecord = { code: 3, signal: null, stopped: null, startError: null, tail: 'boom' };

/** The state folder of an earlier agent on a machine where these processes are alive. */
function createFixture(
  living: readonly { readonly pid: number; readonly start: string }[],
  /** Called on each check whether a process is alive. */
  onCheck: () => void = () => {},
) {
  const state = openStateFolder(tempFolder());
  const clock = createVirtualClock();
  const signals: string[] = [];
  let alive = living;
  const findAlive = (pid: number) => alive.find(each => each.pid === pid) ?? null;
  const processes: Processes = {
    ...ownProcesses({}),
    async identify(pid) {
      onCheck();
      return findAlive(pid);
    },
    ownsGroup: async leader => findAlive(leader.pid)?.start === leader.start,
    groupLives: async pid => findAlive(pid) !== null,
    async signalGroup(pid, signal) {
      signals.push(`${signal} ${pid}`);
      if (signal === 'SIGKILL') alive = alive.filter(each => each.pid !== pid);
    },
  };
  const deps: LaunchDeps = { ownCommand: [], processes, clock };
  /** Searches for a run while the test advances the time, so that waits end immediately. */
  const find = async (): Promise<Found | null> => {
    let isFound = false;
    const found = findRun(state.runsDir, deps).finally(() => (isFound = true));
    for (let n = 0; n < 400 && !isFound; n += 1) await clock.advance(50);
    return found;
  };
  /** Creates a run folder as an earlier agent process left it. */
  const leaveRun = (attempt: string): RunFolder => {
    const run = state.runOf(attemptId(attempt));
    const task = taskOf(scriptJob(run.path, ''));
    writeTask(run, { ...task, attemptId: attemptId(attempt) });
    return run;
  };
  return {
    state,
    find,
    leaveRun,
    signals,
    runFolders: () => readdirSync(state.runsDir),
    killAll: () => (alive = []),
  };
}

/** Writes the records of a guard and its trainer into the run folder. */
function addGuard(run: RunFolder): RunFolder {
  takeRun(run, guard);
  writeTrainer(run, trainer);
  return run;
}

describe('runs of an earlier agent process', () => {
  it('finds no run in an empty state folder', async () => {
    expect(await createFixture([]).find()).toBeNull();
  });

  it('finds a running training, and the last order to its guard', async () => {
    const { find, leaveRun, runFolders, signals } = createFixture([guard, trainer]);
    const run = addGuard(leaveRun('a1'));
    expect(await find()).toMatchObject({
      kind: 'running',
      origin: { jobId: 'j1', attemptId: 'a1' },
      order: null,
    });
    writeStop(run, { order: 'cancel', graceMs: 5_000 });
    expect(await find()).toMatchObject({ kind: 'running', order: 'cancel' });
    expect(runFolders()).toEqual(['a1']);
    expect(signals).toEqual([]);
  });

  it('finds an ended training until its end is reported', async () => {
    const { find, leaveRun, runFolders } = createFixture([]);
    const run = addGuard(leaveRun('a1'));
    writeExit(run, exit);
    writeStop(run, { order: 'leave_now', graceMs: 0 });
    expect(await find()).toMatchObject({ kind: 'ended', order: 'leave_now' });
    expect(runFolders()).toEqual(['a1']);
  });

  it('finds a stored report together with its ended run', async () => {
    const { state, find, leaveRun } = createFixture([guard, trainer]);
    writeExit(addGuard(leaveRun('a1')), exit);
    const report = { jobId: jobId('j1'), attemptId: attemptId('a1'), body: { status: 'failed' as const } };
    state.keepReport(report);
    expect(await find()).toMatchObject({
      kind: 'reported',
      report,
      run: { kind: 'ended', origin: { jobId: 'j1', attemptId: 'a1' } },
    });
  });

  it('finds a stored report of a job that never started', async () => {
    const { state, find } = createFixture([]);
    const report = { jobId: jobId('j1'), attemptId: attemptId('a1'), body: { status: 'failed' as const } };
    state.keepReport(report);
    expect(await find()).toEqual({ kind: 'reported', report });
  });

  it.each([
    ['belongs to an abandoned run that has ended', 'a1'],
    ['does not belong to a run', '..a1'],
  ])('removes a folder that %s', async (_title, name) => {
    const { state, find, runFolders } = createFixture([]);
    const run = { path: join(state.runsDir, name) };
    mkdirSync(run.path);
    writeExit(run, exit);
    writeStop(run, { order: 'abandon', graceMs: 0 });
    expect(await find()).toBeNull();
    expect(runFolders()).toEqual([]);
  });
});

describe('runs without a guard', () => {
  it('kills the process group of a training that lost its guard, and finds no run', async () => {
    const { find, leaveRun, runFolders, signals } = createFixture([trainer]);
    addGuard(leaveRun('a1'));
    expect(await find()).toBeNull();
    expect(signals).toEqual(['SIGTERM 71', 'SIGKILL 71']);
    expect(runFolders()).toEqual([]);
  });

  it.each([
    ['guard', { ...guard, start: 'later' }, trainer, ['SIGTERM 71', 'SIGKILL 71']],
    ['guard and trainer', { ...guard, start: 'later' }, { ...trainer, start: 'later' }, []],
  ])(
    'does not mistake a later process with the same pid for the %s',
    async (_title, runningGuard, runningTrainer, expected) => {
      const { find, leaveRun, runFolders, signals } = createFixture([runningGuard, runningTrainer]);
      addGuard(leaveRun('a1'));
      expect(await find()).toBeNull();
      expect(signals).toEqual(expected);
      expect(runFolders()).toEqual([]);
    },
  );

  it('removes a run whose guard has not started, so that a guard that starts late cannot take the run', async () => {
    const { find, leaveRun, runFolders } = createFixture([]);
    const run = leaveRun('a1');
    expect(await find()).toBeNull();
    expect(runFolders()).toEqual([]);
    expect(takeRun(run, guard)).toBe(false);
  });

  it('removes a run whose guard file stays unreadable', async () => {
    const { find, leaveRun, runFolders } = createFixture([guard]);
    const run = leaveRun('a1');
    writeFileSync(join(run.path, 'guard.json'), '{"pid":');
    expect(await find()).toBeNull();
    expect(runFolders()).toEqual([]);
  });
});

it('stops a guard whose task cannot be read', async () => {
  let stopOrder = '';
  const fixture = createFixture([guard, trainer], () => {
    const file = join(run.path, 'stop.json');
    if (!existsSync(file)) return;
    stopOrder = readFileSync(file, 'utf8');
    // A real guard ends its trainer and itself on this order.
    fixture.killAll();
  });
  const run = addGuard(fixture.leaveRun('a1'));
  writeFileSync(join(run.path, 'task.json'), 'broken');
  expect(await fixture.find()).toBeNull();
  expect(JSON.parse(stopOrder)).toMatchObject({ order: 'abandon' });
  expect([fixture.runFolders(), fixture.signals]).toEqual([[], []]);
});

it('adopts a running training before a stored report, and keeps the report for the next start', async () => {
  const { state, find, leaveRun, runFolders } = createFixture([guard, trainer]);
  const report = { jobId: jobId('j0'), attemptId: attemptId('a0'), body: { status: 'failed' as const } };
  state.keepReport(report);
  const run = addGuard(leaveRun('a1'));
  expect(await find()).toMatchObject({ kind: 'running', origin: { attemptId: 'a1' } });
  expect(await readStop(run)).toBeNull();
  expect(runFolders()).toEqual(['a0', 'a1']);
});

it('adopts the first of two running trainings, and abandons the second', async () => {
  const { find, leaveRun } = createFixture([guard, trainer]);
  addGuard(leaveRun('a1'));
  const second = addGuard(leaveRun('a2'));
  expect(await find()).toMatchObject({ kind: 'running', origin: { attemptId: 'a1' } });
  expect((await readStop(second))?.order).toBe('abandon');
});
