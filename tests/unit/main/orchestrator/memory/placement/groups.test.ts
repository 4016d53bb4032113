// Placement of jobs that train on several workers.
import { describe, expect, test } from 'vitest';
import type { WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';
import { makeNeeds, workerId } from '../../builders.ts';
import { makeWaitingJob, makeIdleWorker, makeIndex } from './builders.ts';

const makePairJob = (order: number, changes: Partial<WaitingJob> = {}): WaitingJob =>
  makeWaitingJob(order, { requirements: makeNeeds({ gpuCount: 1, nodes: 2 }), ...changes });
const makeMultiNodeWorker = (order: number, changes: Parameters<typeof makeIdleWorker>[1] = {}) =>
  makeIdleWorker(order, { isMultiNode: true, ...changes });
// Argument of `next` that reports enough existing workers for every job.
const enoughWorkersExist = (): boolean => true;

describe('choosing the workers of a job that needs two', () => {
  test('takes the two workers that were created first, and no worker while only one worker is idle', () => {
    expect(makeIndex([makePairJob(1)], [makeMultiNodeWorker(1)]).next()).toBeNull();
    expect(
      makeIndex(
        [makePairJob(1)],
        [makeMultiNodeWorker(3), makeMultiNodeWorker(1), makeMultiNodeWorker(2)],
      ).next(),
    ).toEqual({
      jobId: 'j_1',
      workerId: 'w_1',
      others: ['w_2'],
    });
  });

  test('takes two workers of one kind rather than the two smallest workers', () => {
    const rigs = [
      makeMultiNodeWorker(1, { vramGb: 24 }),
      makeMultiNodeWorker(2, { vramGb: 80 }),
      makeMultiNodeWorker(3, { vramGb: 80 }),
    ];
    expect(makeIndex([makePairJob(1)], rigs).next()).toMatchObject({ workerId: 'w_2', others: ['w_3'] });
  });

  test('takes two workers of different kinds when no two workers are of the same kind', () => {
    const rigs = [makeMultiNodeWorker(1, { vramGb: 80 }), makeMultiNodeWorker(2, { vramGb: 24 })];
    expect(makeIndex([makePairJob(1)], rigs).next()).toMatchObject({ workerId: 'w_2', others: ['w_1'] });
  });

  test('takes one worker that consists of two machines', () => {
    const twoMachines = makeIdleWorker(3, { nodes: 2 });
    expect(
      makeIndex([makePairJob(1)], [makeMultiNodeWorker(1), makeMultiNodeWorker(2), twoMachines]).next(),
    ).toEqual({
      jobId: 'j_1',
      workerId: 'w_3',
      others: [],
    });
  });

  test('takes the worker that last ran the job only when no other worker is left', () => {
    const job = makePairJob(1, { avoid: workerId('w_1') });
    expect(
      makeIndex([job], [makeMultiNodeWorker(1), makeMultiNodeWorker(2), makeMultiNodeWorker(3)]).next(),
    ).toMatchObject({
      workerId: 'w_2',
      others: ['w_3'],
    });
    expect(makeIndex([job], [makeMultiNodeWorker(1), makeMultiNodeWorker(2)]).next()).toMatchObject({
      workerId: 'w_2',
      others: ['w_1'],
    });
  });

  test('returns the first of the two workers from wouldPlace for a job that needs two', () => {
    expect(makeIndex([], [makeMultiNodeWorker(1), makeMultiNodeWorker(2)]).wouldPlace(makePairJob(1))).toBe(
      'w_1',
    );
    expect(makeIndex([], [makeMultiNodeWorker(1)]).wouldPlace(makePairJob(1))).toBeNull();
  });
});

describe('reserving idle workers for a job that needs two', () => {
  test('reserves a fitting worker for a job that needs two if enough workers exist', () => {
    const index = makeIndex([makePairJob(1), makeWaitingJob(2)], [makeMultiNodeWorker(1)]);
    expect(index.next(enoughWorkersExist)).toBeNull();
    expect(index.next()).toMatchObject({ jobId: 'j_2' });
    expect(index.wouldPlace(makeWaitingJob(3), enoughWorkersExist)).toBeNull();
  });

  test('does not reserve workers that do not fit the job that needs two', () => {
    const index = makeIndex([makePairJob(1), makeWaitingJob(2)], [makeMultiNodeWorker(1), makeIdleWorker(2)]);
    expect(index.next(enoughWorkersExist)).toMatchObject({ jobId: 'j_2', workerId: 'w_2' });
  });

  test('gives an idle worker to a job that is ahead of the job that needs two', () => {
    const index = makeIndex([makePairJob(2), makeWaitingJob(1)], [makeMultiNodeWorker(1)]);
    expect(index.next(enoughWorkersExist)).toMatchObject({ jobId: 'j_1', workerId: 'w_1' });
  });

  test('does not give a reserved worker to a later job that needs two', () => {
    const small = makePairJob(2, { requirements: makeNeeds({ gpuCount: 0, nodes: 2 }) });
    const big = makePairJob(1, { requirements: makeNeeds({ gpuCount: 8, nodes: 2 }) });
    const rigs = [makeMultiNodeWorker(1, { gpuCount: 8 }), makeMultiNodeWorker(2), makeMultiNodeWorker(3)];
    expect(makeIndex([big, small], rigs).next(enoughWorkersExist)).toMatchObject({
      jobId: 'j_2',
      workerId: 'w_2',
      others: ['w_3'],
    });
    expect(makeIndex([big, small], rigs.slice(0, 2)).next(enoughWorkersExist)).toBeNull();
  });

  test('reserves no worker for a job whose user or team is at its limit', () => {
    const index = makeIndex(
      [makePairJob(1, { user: 'eve', team: 'vision' }), makeWaitingJob(2)],
      [makeMultiNodeWorker(1)],
    );
    index.setUserAtLimit('eve', true);
    expect(index.next(enoughWorkersExist)).toMatchObject({ jobId: 'j_2' });
    index.setUserAtLimit('eve', false);
    expect(index.next(enoughWorkersExist)).toBeNull();
    index.setTeam('vision', { running: 3, isAtLimit: true });
    expect(index.next(enoughWorkersExist)).toMatchObject({ jobId: 'j_2' });
  });
});
