/** How an agent's report updates the known troubles of its GPUs. */
import { expect, test } from 'vitest';
import { planTroubles } from '../../../../../main/orchestrator/rules/gpu-troubles.ts';
import type { GpuTrouble } from '../../../../../protocol/worker.ts';

const lost: GpuTrouble = { gpu: 1, kind: 'missing', detail: 'it is lost' };
const faulty: GpuTrouble = { gpu: 0, kind: 'errors', detail: '2 errors' };
const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'by process 7' };
const sure: ReadonlySet<string> = new Set();

test('nothing said of nothing known is nothing to write', () => {
  expect(planTroubles([], [], sure)).toEqual({
    troubles: [],
    came: [],
    went: [],
    doubted: new Set(),
    changes: false,
  });
});

test('the first word counts, and all are kept in one order whatever the order of the words', () => {
  const plan = planTroubles([], [lost, held, faulty], sure);
  expect(plan).toMatchObject({
    troubles: [faulty, held, lost],
    came: [lost, held, faulty],
    went: [],
    changes: true,
  });
  expect(planTroubles([], [faulty, held, lost], sure).troubles).toEqual(plan.troubles);
  expect(planTroubles(plan.troubles, [held, faulty, lost], plan.doubted)).toMatchObject({
    troubles: plan.troubles,
    came: [],
    changes: false,
  });
});

test('the same trouble twice in one word is one', () => {
  expect(planTroubles([], [held, held], sure)).toMatchObject({ troubles: [held], came: [held] });
});

test('what is not named stays for once, and is over when it is not named again', () => {
  const first = planTroubles([faulty, lost], [faulty], sure);
  expect(first).toMatchObject({ troubles: [faulty, lost], went: [], changes: false });
  const second = planTroubles(first.troubles, [faulty], first.doubted);
  expect(second).toMatchObject({ troubles: [faulty], went: [lost], doubted: new Set(), changes: true });
});

test('what is named again in between is in doubt no longer: nothing is told, however long that goes on', () => {
  let plan = planTroubles([], [held], sure);
  for (let beat = 0; beat < 20; beat += 1) {
    plan = planTroubles(plan.troubles, beat % 2 === 0 ? [] : [held], plan.doubted);
    expect(plan).toMatchObject({ troubles: [held], changes: false });
  }
});

test('other words for the same trouble are kept, and are no news', () => {
  const reworded = { ...held, detail: 'by process 8' };
  expect(planTroubles([held], [reworded], sure)).toMatchObject({
    troubles: [reworded],
    came: [],
    went: [],
    changes: true,
  });
});
