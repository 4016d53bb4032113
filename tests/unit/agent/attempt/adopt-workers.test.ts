/**
 * Tests how a restarted agent continues its part of an attempt on several workers. Each worker of the attempt has a
 * rank. Only the worker of rank 0 sends the log and the curve.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findAcknowledged, findRun, type Found } from '../../../../agent/attempt/adopt.ts';
import { catchUpCurve } from '../../../../agent/attempt/held-attempt.ts';
import {
  acknowledgeRun,
  type ExitRecord,
  readTask,
  type RunFolder,
  writeExit,
  writePlaces,
  writeTask,
} from '../../../../agent/guard/guard-files.ts';
import { createAttemptLogs } from '../../../../agent/logs/attempt-logs.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import { openStateFolder } from '../../../../agent/state/state-folder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId, scriptJob, tempFolder } from '../builders.ts';
import { taskOf } from '../guard-fixture.ts';
import { until } from '../guard-rig.ts';
import { newest, flushCallbacks } from '../controlled-runs.ts';
import { createSlotFixture } from '../slot-fixture.ts';

const exit: ExitRecord = { code: 3, signal: null, stopped: null, startError: null, tail: 'boom' };

/** Creates the state folder of an agent whose trainer of this rank has printed a line and ended. */
function createFixture(rank: number) {
  const state = openStateFolder(tempFolder());
  const clock = createVirtualClock();
  const run: RunFolder = state.runOf(attemptId('a1'));
  const logFile = join(tempFolder(), 'trainer.log');
  writeTask(run, { ...taskOf(scriptJob(run.path, '')), logFile, rank });
  writePlaces(run, { current: 0, previous: null });
  writeFileSync(logFile, '{"type":"progress","step":7,"total_steps":10}\n');
  writeExit(run, exit);
  const deps = { ownCommand: [], processes: ownProcesses({}), clock };
  const shipped: string[] = [];
  const createLogs = () =>
    createAttemptLogs({
      state,
      ship: async (_job, chunk) => {
        shipped.push(chunk.attempt_id);
        return { ok: true, value: { success: true, next: 1_000 } };
      },
      token: () => 'wt_1',
      clock,
      wall: Date.now,
      random: () => 0.5,
      log: () => {},
      signal: new AbortController().signal,
    });
  return {
    state,
    clock,
    run,
    logFile,
    deps,
    shipped,
    createLogs,
    runFolders: () => readdirSync(state.runsDir),
  };
}

/** Resumes the run in a job slot. `followed` lists the log and the curve that the slot sends. */
async function resumeInSlot(found: Found | null) {
  const followed: string[] = [];
  const fixture = createSlotFixture({
    logs: { follow: () => void followed.push('log'), finish: () => {}, keepFor: () => {} },
    curve: () => {
      followed.push('curve');
      return { ready: Promise.resolve(), note: () => {}, finish: () => {}, done: Promise.resolve(true) };
    },
  });
  if (found === null) throw new Error('nothing was found');
  fixture.slot.resume(found);
  await flushCallbacks();
  return { ...fixture, followed };
}

describe('adopted runs of an attempt on several workers', () => {
  it('stores the rank of a run on disk', () => {
    const { run } = createFixture(2);
    expect(readTask(run)?.rank).toBe(2);
    writeTask(run, taskOf(scriptJob(run.path, '')));
    expect(readTask(run)).not.toHaveProperty('rank');
  });

  it.each([
    [0, ['curve', 'log']],
    [1, []],
  ])(
    'reports the end of an adopted run of rank %d, and in addition sends only: %j',
    async (rank, expectedToFollow) => {
      const { clock, deps, state } = createFixture(rank);
      const { reports, followed } = await resumeInSlot(await findRun(state.runsDir, deps));
      await until(async () => {
        await clock.advance(300);
        return reports.length > 0 ? true : null;
      });
      expect(followed).toEqual(expectedToFollow);
      const { body } = newest(reports);
      expect(body).toMatchObject({ status: 'failed', exit_code: 3, error: expect.stringContaining('boom') });
      expect(body.progress).toEqual(rank === 0 ? expect.objectContaining({ step: 7 }) : undefined);
    },
  );

  it.each([
    [0, ['log', 'curve', 'log']],
    [1, []],
  ])('sends a stored report of rank %d, and in addition only: %j', async (rank, expectedToFollow) => {
    const { deps, state } = createFixture(rank);
    state.keepReport({ jobId: jobId('j1'), attemptId: attemptId('a1'), body: { status: 'failed' } });
    const { reports, followed } = await resumeInSlot(await findRun(state.runsDir, deps));
    expect(newest(reports).body).toEqual({ status: 'failed' });
    expect(followed).toEqual(expectedToFollow);
  });

  it('uploads no log of rank 1, and after the reported end removes the run folder but keeps the log file', async () => {
    const { createLogs, clock, shipped, runFolders, logFile } = createFixture(1);
    const attemptLogs = createLogs();
    attemptLogs.follow(attemptId('a1'), []);
    attemptLogs.finish(attemptId('a1'));
    await clock.advance(60_000);
    expect([shipped, runFolders()]).toEqual([[], ['a1']]);
    attemptLogs.acknowledge(attemptId('a1'));
    await clock.advance(60_000);
    expect([shipped, runFolders(), existsSync(logFile)]).toEqual([[], [], true]);
  });

  it('sends no log or curve of rank 1 when an earlier process has reported the end', async () => {
    const { run, deps, state, createLogs, clock, shipped, runFolders } = createFixture(1);
    acknowledgeRun(run);
    const followed: string[] = [];
    for (const found of findAcknowledged(state.runsDir, deps))
      catchUpCurve(found, {
        curve: () => {
          followed.push('curve');
          return { ready: Promise.resolve(), note: () => {}, finish: () => {}, done: Promise.resolve(true) };
        },
      });
    createLogs().resume();
    await clock.advance(60_000);
    expect([followed, shipped, runFolders()]).toEqual([[], [], []]);
  });
});
