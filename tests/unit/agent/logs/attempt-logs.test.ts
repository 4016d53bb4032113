import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ShipCall } from '../../../../agent/connection/api-client.ts';
import { type AttemptLogs, createAttemptLogs } from '../../../../agent/logs/attempt-logs.ts';
import { findRun } from '../../../../agent/attempt/adopt.ts';
import {
  acknowledgedAt,
  takeRun,
  writeExit,
  writePlaces,
  writeStop,
  writeTask,
} from '../../../../agent/guard/guard-files.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import { openStateFolder } from '../../../../agent/state/state-folder.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { createLogStore } from '../../../support/log-book.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId, problemOf, scriptJob, tempFolder, unreachable } from '../builders.ts';
import { taskOf } from '../guard-fixture.ts';
import { until } from '../guard-rig.ts';

const exit = { code: 0, signal: null, stopped: null, startError: null, tail: '' };
/** A process id above the limit of every system. */
const noSuchProcess = { pid: 2 ** 30, start: 'x' };
const day = 24 * 60 * 60 * 1000;

/** The state folder of a rig, and an orchestrator that accepts its logs. */
function createFixture() {
  const state = openStateFolder(tempFolder());
  const clock = createVirtualClock();
  const store = createLogStore();
  const logged: string[] = [];
  const jobs = new Set<string>();
  let failure: CallFailure | null = null;
  const ship: ShipCall = async (job, chunk) => {
    jobs.add(job);
    return failure === null
      ? { ok: true, value: { success: true, next: store.accept(chunk) } }
      : { ok: false, failure };
  };
  /** Creates the files that a guard leaves after a run that printed this text. */
  const leaveRun = (attempt: string, text = `of ${attempt}\n`): string => {
    const run = state.runOf(attemptId(attempt));
    const logFile = join(run.path, 'trainer.log');
    writeTask(run, { ...taskOf(scriptJob(run.path, '')), attemptId: attemptId(attempt), logFile });
    writePlaces(run, { current: 0, previous: null });
    writeFileSync(logFile, text);
    return logFile;
  };
  const start = (signal = new AbortController().signal): AttemptLogs =>
    createAttemptLogs({
      state,
      ship,
      token: () => 'the-secret-of-this-worker',
      clock,
      wall: Date.now,
      random: () => 0.5,
      log: message => logged.push(message),
      signal,
    });
  return {
    state,
    clock,
    store,
    logged,
    jobs,
    leaveRun,
    start,
    runFolders: () => readdirSync(state.runsDir),
    /** Advances the time until `isReached` returns true. */
    advanceUntil: (isReached: () => boolean, stepMs = 300) =>
      until(async () => {
        await clock.advance(stepMs);
        return isReached() ? true : null;
      }),
    fail: (next: CallFailure | null) => (failure = next),
    find: () => findRun(state.runsDir, { ownCommand: [], processes: ownProcesses({}), clock }),
  };
}

describe('log of an attempt', () => {
  it('uploads the log during and after the run, and then removes the run folder', async () => {
    const { start, leaveRun, store, runFolders, advanceUntil, jobs } = createFixture();
    const logs = start();
    leaveRun('a1', 'hello\nthe-secret-of-this-worker abcdefgh\n');
    logs.follow(attemptId('a1'), ['abcdefgh']);
    // A second call must not replace the secrets of the first call.
    logs.follow(attemptId('a1'), []);
    await advanceUntil(() => store.of().text !== '');
    expect(store.of()).toMatchObject({ text: 'hello\n[redacted] [redacted]\n', isComplete: false });
    logs.finish(attemptId('a1'));
    await advanceUntil(() => store.of().isComplete);
    expect(runFolders()).toEqual(['a1']);
    logs.acknowledge(attemptId('a1'));
    await advanceUntil(() => runFolders().length === 0);
    expect([...jobs]).toEqual(['j1']);
  });

  it('keeps the run folder until its log is uploaded', async () => {
    const { start, leaveRun, store, runFolders, advanceUntil, fail, find, clock } = createFixture();
    const logs = start();
    leaveRun('a1');
    fail(unreachable());
    logs.follow(attemptId('a1'), []);
    logs.acknowledge(attemptId('a1'));
    await clock.advance(60_000);
    expect(runFolders()).toEqual(['a1']);
    // An acknowledged run is not adopted again, although its folder is still there.
    expect(await find()).toBeNull();
    expect(runFolders()).toEqual(['a1']);
    fail(null);
    await advanceUntil(() => runFolders().length === 0);
    expect(store.of()).toMatchObject({ text: 'of a1\n', isComplete: true });
  });

  it.each([
    [true, []],
    [false, ['a1']],
  ])(
    'removes the run folder only if the promise of keepFor() resolves to true (%s)',
    async (isDone, expected) => {
      const { start, leaveRun, store, runFolders, advanceUntil, clock } = createFixture();
      const reader = Promise.withResolvers<boolean>();
      const logs = start();
      leaveRun('a1');
      logs.follow(attemptId('a1'), []);
      logs.keepFor(attemptId('a1'), reader.promise);
      logs.acknowledge(attemptId('a1'));
      await advanceUntil(() => store.of().isComplete);
      expect(runFolders()).toEqual(['a1']);
      reader.resolve(isDone);
      await clock.advance(60_000);
      expect(runFolders()).toEqual(expected);
    },
  );

  it('continues an upload after a restart of the agent', async () => {
    const { start, leaveRun, store, runFolders, advanceUntil, fail, clock } = createFixture();
    const firstAgent = new AbortController();
    const logsOfFirst = start(firstAgent.signal);
    leaveRun('a1');
    fail(unreachable());
    logsOfFirst.acknowledge(attemptId('a1'));
    await clock.advance(1_000);
    firstAgent.abort();
    fail(null);
    await clock.advance(60_000);
    expect(runFolders()).toEqual(['a1']);
    expect(store.of().text).toBe('');
    start().resume();
    await advanceUntil(() => runFolders().length === 0);
    expect(store.of()).toMatchObject({ text: 'of a1\n', isComplete: true });
  });

  it.each([
    ['whose end was never reported', () => {}, false],
    ['that was abandoned', (path: string) => writeStop({ path }, { order: 'abandon', graceMs: 0 }), true],
  ])('uploads the log of an attempt %s', async (_title, orderStop, hasExitRecord) => {
    const { start, state, leaveRun, store, find, runFolders, advanceUntil } = createFixture();
    leaveRun('a1');
    const run = state.runOf(attemptId('a1'));
    takeRun(run, noSuchProcess);
    orderStop(run.path);
    if (hasExitRecord) writeExit(run, exit);
    expect(await find()).toBeNull();
    expect(acknowledgedAt(run)).not.toBeNull();
    start().resume();
    await advanceUntil(() => runFolders().length === 0);
    expect(store.of()).toMatchObject({ text: 'of a1\n', isComplete: true });
  });

  it('immediately removes the run folder of a job that never started', () => {
    const { start, state, runFolders } = createFixture();
    const logs = start();
    state.keepReport({ jobId: jobId('j1'), attemptId: attemptId('a1'), body: { status: 'failed' } });
    logs.follow(attemptId('a1'), []);
    logs.finish(attemptId('a1'));
    logs.acknowledge(attemptId('a1'));
    expect(runFolders()).toEqual([]);
  });

  it('drops a log that the server refuses, and a log that could not be uploaded for a day', async () => {
    const { start, state, leaveRun, store, runFolders, advanceUntil, fail } = createFixture();
    leaveRun('a1');
    leaveRun('a2');
    const logs = start();
    fail(problemOf(409));
    logs.acknowledge(attemptId('a1'));
    await advanceUntil(() => !runFolders().includes('a1'));
    fail(unreachable());
    logs.acknowledge(attemptId('a2'));
    // The modification time of settled.json is the time of the acknowledgement.
    const settled = join(state.runOf(attemptId('a2')).path, 'settled.json');
    const earlier = new Date(Date.now() - day - 1_000);
    utimesSync(settled, earlier, earlier);
    start().resume();
    await advanceUntil(() => runFolders().length === 0, 60_000);
    expect(store.of('a2').text).toBe('');
  });

  it('retries a log for an hour when a clock jump makes the log seem ten years old', async () => {
    const { start, state, leaveRun, store, runFolders, advanceUntil, fail, clock } = createFixture();
    leaveRun('a1');
    fail(unreachable());
    const firstAgentLogs = start();
    firstAgentLogs.acknowledge(attemptId('a1'));
    await firstAgentLogs.leave(1);
    const settled = join(state.runOf(attemptId('a1')).path, 'settled.json');
    const earlier = new Date(Date.now() - 3_650 * day);
    utimesSync(settled, earlier, earlier);
    start().resume();
    await clock.advance(50 * 60_000);
    expect(runFolders()).toEqual(['a1']);
    fail(null);
    await advanceUntil(() => runFolders().length === 0, 1_000);
    expect(store.of()).toMatchObject({ text: 'of a1\n', isComplete: true });
  });

  it('removes a run folder whose acknowledgement cannot be recorded, so that its end is not reported again', () => {
    const { start, state, leaveRun, runFolders } = createFixture();
    leaveRun('a1');
    // A folder named settled.json makes each attempt to record the acknowledgement fail.
    mkdirSync(join(state.runOf(attemptId('a1')).path, 'settled.json'));
    start().acknowledge(attemptId('a1'));
    expect(runFolders()).toEqual([]);
  });
});

it('keeps only the five newest logs that wait for an upload', async () => {
  const { start, state, leaveRun, runFolders, fail, clock } = createFixture();
  fail(unreachable());
  const logs = start();
  for (let n = 1; n <= 8; n += 1) {
    leaveRun(`a${n}`);
    logs.acknowledge(attemptId(`a${n}`));
    // The settled.json of attempt 1 is the oldest.
    const modifiedAt = new Date(Date.now() - (9 - n) * 60_000);
    utimesSync(join(state.runOf(attemptId(`a${n}`)).path, 'settled.json'), modifiedAt, modifiedAt);
  }
  leaveRun('a9');
  logs.acknowledge(attemptId('a9'));
  expect(runFolders()).toEqual(['a5', 'a6', 'a7', 'a8', 'a9']);
  await clock.advance(60_000);
  expect(runFolders()).toEqual(['a5', 'a6', 'a7', 'a8', 'a9']);
});

it('keeps the log that was acknowledged last although the clock was set back', () => {
  const { start, state, leaveRun, runFolders, fail } = createFixture();
  fail(unreachable());
  const logs = start();
  const later = new Date(Date.now() + day);
  for (const attempt of ['a1', 'a2', 'a3', 'a4', 'a5']) {
    leaveRun(attempt);
    logs.acknowledge(attemptId(attempt));
    utimesSync(join(state.runOf(attemptId(attempt)).path, 'settled.json'), later, later);
  }
  leaveRun('a6');
  logs.acknowledge(attemptId('a6'));
  expect(runFolders()).toHaveLength(5);
  expect(runFolders()).toContain('a6');
});

it('logs only once that an older orchestrator does not support logs', async () => {
  const { start, leaveRun, logged, runFolders, fail, advanceUntil } = createFixture();
  const logs = start();
  fail({ ...problemOf(405) });
  for (const attempt of ['a1', 'a2']) {
    leaveRun(attempt);
    logs.acknowledge(attemptId(attempt));
  }
  await advanceUntil(() => runFolders().length === 0);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('does not support logs');
});

describe('leaving agent', () => {
  it('waits for the upload of all logs before the agent exits', async () => {
    const { start, leaveRun, store, clock, advanceUntil } = createFixture();
    leaveRun('a1');
    const logs = start();
    logs.follow(attemptId('a1'), []);
    logs.acknowledge(attemptId('a1'));
    const startedAt = clock.mono();
    let hasLeft = false;
    void logs.leave(5_000).then(() => (hasLeft = true));
    await advanceUntil(() => hasLeft, 1);
    expect(store.of().isComplete).toBe(true);
    expect(clock.mono() - startedAt).toBeLessThan(5_000);
  });

  it('does not wait for an unreachable server, and keeps the logs for the next start', async () => {
    const { start, leaveRun, runFolders, fail, advanceUntil } = createFixture();
    leaveRun('a1');
    leaveRun('a2');
    fail(unreachable());
    const logs = start();
    logs.acknowledge(attemptId('a1'));
    logs.follow(attemptId('a2'), []);
    let hasLeft = false;
    void logs.leave(60_000).then(() => (hasLeft = true));
    await advanceUntil(() => hasLeft, 1);
    expect(runFolders()).toEqual(['a1', 'a2']);
  });
});

it('reports a log file as used by another attempt as long as a run folder names the file', () => {
  const { start, state, leaveRun } = createFixture();
  const file = leaveRun('a1');
  const logs = start();
  expect(logs.isUsedByOtherAttempt(file, attemptId('a2'))).toBe(true);
  expect(logs.isUsedByOtherAttempt(file, attemptId('a1'))).toBe(false);
  expect(logs.isUsedByOtherAttempt(`${file}x`, attemptId('a2'))).toBe(false);
  state.dropReport(attemptId('a1'));
  expect(logs.isUsedByOtherAttempt(file, attemptId('a2'))).toBe(false);
  expect(existsSync(file)).toBe(false);
});
