import { expect, test } from 'vitest';
import { planTroubles } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import type { GpuTrouble } from '../../../../../protocol/worker.ts';

const missing: GpuTrouble = { gpu: 1, kind: 'missing', detail: 'not listed' };
const faulty: GpuTrouble = { gpu: 0, kind: 'errors', detail: '2 errors' };
const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'by process 7' };
// A known trouble is in doubt after one report without it. Here, no trouble is in doubt.
const noDoubts: ReadonlySet<string> = new Set();

test('changes nothing when no GPU problem is reported or known', () => {
  expect(planTroubles([], [], noDoubts)).toEqual({
    troubles: [],
    started: [],
    ended: [],
    doubted: new Set(),
    changes: false,
  });
});

test('adds reported GPU problems immediately, in a stable order', () => {
  const plan = planTroubles([], [missing, held, faulty], noDoubts);
  expect(plan).toMatchObject({
    troubles: [faulty, held, missing],
    started: [missing, held, faulty],
    ended: [],
    changes: true,
  });
  expect(planTroubles([], [faulty, held, missing], noDoubts).troubles).toEqual(plan.troubles);
  expect(planTroubles(plan.troubles, [held, faulty, missing], plan.doubted)).toMatchObject({
    troubles: plan.troubles,
    started: [],
    changes: false,
  });
});

test('merges a GPU problem that one report contains twice', () => {
  expect(planTroubles([], [held, held], noDoubts)).toMatchObject({ troubles: [held], started: [held] });
});

test('ends a GPU problem that is missing from two reports in a row', () => {
  const first = planTroubles([faulty, missing], [faulty], noDoubts);
  expect(first).toMatchObject({ troubles: [faulty, missing], ended: [], changes: false });
  const second = planTroubles(first.troubles, [faulty], first.doubted);
  expect(second).toMatchObject({ troubles: [faulty], ended: [missing], doubted: new Set(), changes: true });
});

test('keeps a GPU problem that is missing from every other report', () => {
  let plan = planTroubles([], [held], noDoubts);
  for (let report = 0; report < 20; report += 1) {
    plan = planTroubles(plan.troubles, report % 2 === 0 ? [] : [held], plan.doubted);
    expect(plan).toMatchObject({ troubles: [held], changes: false });
  }
});

test('stores new details of a known GPU problem without reporting the problem as new', () => {
  const newDetail = { ...held, detail: 'by process 8' };
  expect(planTroubles([held], [newDetail], noDoubts)).toMatchObject({
    troubles: [newDetail],
    started: [],
    ended: [],
    changes: true,
  });
});
