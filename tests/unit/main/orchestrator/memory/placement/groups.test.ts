// Placement of jobs that train on several workers.
import { describe, expect, test } from 'vitest';
import type { WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';
import { makeNeeds, workerId } from '../../builders.ts';
import { aJob, aWorker, filled } from './builders.ts';

const aPair = (order: number, changes: Partial<WaitingJob> = {}): WaitingJob =>
  aJob(order, { requirements: makeNeeds({ gpuCount: 1, nodes: 2 }), ...changes });
const aRig = (order: number, changes: Parameters<typeof aWorker>[1] = {}) =>
  aWorker(order, { isMultiNode: true, ...changes });
const always = (): boolean => true;

describe('choosing the workers of a job that needs two', () => {
  test('takes the two that were created first, and none while only one is idle', () => {
    expect(filled([aPair(1)], [aRig(1)]).next()).toBeNull();
    expect(filled([aPair(1)], [aRig(3), aRig(1), aRig(2)]).next()).toEqual({
      jobId: 'j_1',
      workerId: 'w_1',
      others: ['w_2'],
    });
  });

  test('takes two of one kind rather than those with least to spare', () => {
    const rigs = [aRig(1, { vramGb: 24 }), aRig(2, { vramGb: 80 }), aRig(3, { vramGb: 80 })];
    expect(filled([aPair(1)], rigs).next()).toMatchObject({ workerId: 'w_2', others: ['w_3'] });
  });

  test('takes two of different kinds when there is no pair of one kind', () => {
    const rigs = [aRig(1, { vramGb: 80 }), aRig(2, { vramGb: 24 })];
    expect(filled([aPair(1)], rigs).next()).toMatchObject({ workerId: 'w_2', others: ['w_1'] });
  });

  test('takes one worker that has both machines', () => {
    const whole = aWorker(3, { nodes: 2 });
    expect(filled([aPair(1)], [aRig(1), aRig(2), whole]).next()).toEqual({
      jobId: 'j_1',
      workerId: 'w_3',
      others: [],
    });
  });

  test('takes the worker that had it last only when no other is left', () => {
    const job = aPair(1, { avoid: workerId('w_1') });
    expect(filled([job], [aRig(1), aRig(2), aRig(3)]).next()).toMatchObject({
      workerId: 'w_2',
      others: ['w_3'],
    });
    expect(filled([job], [aRig(1), aRig(2)]).next()).toMatchObject({ workerId: 'w_2', others: ['w_1'] });
  });

  test('says which worker would be the first for such a job', () => {
    expect(filled([], [aRig(1), aRig(2)]).wouldPlace(aPair(1))).toBe('w_1');
    expect(filled([], [aRig(1)]).wouldPlace(aPair(1))).toBeNull();
  });
});

describe('keeping idle workers for a job that needs two', () => {
  test('holds the worker that fits it back from jobs behind it, if enough exist', () => {
    const index = filled([aPair(1), aJob(2)], [aRig(1)]);
    expect(index.next(always)).toBeNull();
    expect(index.next()).toMatchObject({ jobId: 'j_2' });
    expect(index.wouldPlace(aJob(3), always)).toBeNull();
  });

  test('leaves workers that do not fit it to jobs behind it', () => {
    const index = filled([aPair(1), aJob(2)], [aRig(1), aWorker(2)]);
    expect(index.next(always)).toMatchObject({ jobId: 'j_2', workerId: 'w_2' });
  });

  test('leaves jobs before it alone', () => {
    const index = filled([aPair(2), aJob(1)], [aRig(1)]);
    expect(index.next(always)).toMatchObject({ jobId: 'j_1', workerId: 'w_1' });
  });

  test('holds workers back from another job that needs two, if that is behind it', () => {
    const small = aPair(2, { requirements: makeNeeds({ gpuCount: 0, nodes: 2 }) });
    const big = aPair(1, { requirements: makeNeeds({ gpuCount: 8, nodes: 2 }) });
    const rigs = [aRig(1, { gpuCount: 8 }), aRig(2), aRig(3)];
    expect(filled([big, small], rigs).next(always)).toMatchObject({
      jobId: 'j_2',
      workerId: 'w_2',
      others: ['w_3'],
    });
    expect(filled([big, small], rigs.slice(0, 2)).next(always)).toBeNull();
  });

  test('keeps none for a job whose user or team is at its limit', () => {
    const index = filled([aPair(1, { user: 'eve', team: 'vision' }), aJob(2)], [aRig(1)]);
    index.setUserAtLimit('eve', true);
    expect(index.next(always)).toMatchObject({ jobId: 'j_2' });
    index.setUserAtLimit('eve', false);
    expect(index.next(always)).toBeNull();
    index.setTeam('vision', { running: 3, isAtLimit: true });
    expect(index.next(always)).toMatchObject({ jobId: 'j_2' });
  });
});
