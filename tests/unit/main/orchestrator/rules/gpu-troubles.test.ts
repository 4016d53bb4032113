import { expect, test } from 'vitest';
import { planTroubles } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import type { GpuTrouble } from '../../../../../protocol/worker.ts';

const lost: GpuTrouble = { gpu: 1, kind: 'missing', detail: 'it is lost' };
const faulty: GpuTrouble = { gpu: 0, kind: 'errors', detail: '2 errors' };
const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'by process 7' };
const sure: ReadonlySet<string> = new Set();

test('changes nothing when nothing is reported or known', () => {
  expect(planTroubles([], [], sure)).toEqual({
    troubles: [],
    started: [],
    ended: [],
    doubted: new Set(),
    changes: false,
  });
});

test('adds reported problems immediately, in a stable order', () => {
  const plan = planTroubles([], [lost, held, faulty], sure);
  expect(plan).toMatchObject({
    troubles: [faulty, held, lost],
    started: [lost, held, faulty],
    ended: [],
    changes: true,
  });
  expect(planTroubles([], [faulty, held, lost], sure).troubles).toEqual(plan.troubles);
  expect(planTroubles(plan.troubles, [held, faulty, lost], plan.doubted)).toMatchObject({
    troubles: plan.troubles,
    started: [],
    changes: false,
  });
});

test('merges the same problem reported twice', () => {
  expect(planTroubles([], [held, held], sure)).toMatchObject({ troubles: [held], started: [held] });
});

test('ends a problem after it is missing from two reports', () => {
  const first = planTroubles([faulty, lost], [faulty], sure);
  expect(first).toMatchObject({ troubles: [faulty, lost], ended: [], changes: false });
  const second = planTroubles(first.troubles, [faulty], first.doubted);
  expect(second).toMatchObject({ troubles: [faulty], ended: [lost], doubted: new Set(), changes: true });
});

test('keeps a problem that is missing from every other report, without changes', () => {
  let plan = planTroubles([], [held], sure);
  for (let beat = 0; beat < 20; beat += 1) {
    plan = planTroubles(plan.troubles, beat % 2 === 0 ? [] : [held], plan.doubted);
    expect(plan).toMatchObject({ troubles: [held], changes: false });
  }
});

test('stores new details of a known problem without reporting it as new', () => {
  const reworded = { ...held, detail: 'by process 8' };
  expect(planTroubles([held], [reworded], sure)).toMatchObject({
    troubles: [reworded],
    started: [],
    ended: [],
    changes: true,
  });
});
