import { expect, test } from 'vitest';
import type { PoolBlocker } from '../../../../../main/orchestrator/rules/pool-blockers.ts';
import { describePoolBlocker, describeRequest } from '../../../../../main/orchestrator/rules/pool-texts.ts';
import { LaunchState, WaitingReason } from '../../../../../protocol/pool.ts';
import { makeLaunch, makePool } from '../pool-builders.ts';

const iso = (at: number): string => new Date(at).toISOString().slice(0, 19);

test.each<[PoolBlocker, string]>([
  [
    { code: 'mismatch', mismatches: [{ code: 'vram', wanted: '80 GB', offered: '24 GB' }] },
    'Memory of each GPU: the job needs 80 GB, it has 24 GB',
  ],
  [{ code: 'mismatch', mismatches: [] }, ''],
  [{ code: 'nodes', wanted: 4, max: 2 }, 'The job needs 4 machines, and the pool gives at most 2 to a job'],
  [
    { code: 'launches', wanted: 5, max: 4 },
    'The pool has 4 open launches, which is its limit (max_launches)',
  ],
  [
    { code: 'waiting', wanted: 5, max: 4 },
    '4 launches of the pool wait in its engine, which is its limit (max_waiting)',
  ],
  [{ code: 'gpus', wanted: 9, max: 8 }, 'The pool would have 9 GPUs, and its limit is 8 (max_gpus)'],
  [
    { code: 'impossible', message: 'Requested node configuration is not available' },
    'The engine refused such a machine: Requested node configuration is not available. Change the pool, or resume it to try again',
  ],
  [{ code: 'paused', by: 'ada', reason: 'Repairs' }, 'ada paused the pool: Repairs'],
  [{ code: 'paused', by: 'ada', reason: '' }, 'ada paused the pool'],
  [{ code: 'unreachable' }, 'The engine of the pool does not answer'],
  [{ code: 'hours' }, 'The pool orders no machines at this time of day (hours)'],
  [{ code: 'budget', used: 8.04, max: 8 }, 'The pool has used 8.0 of 8 GPU-hours today (gpu_hours_per_day)'],
  [
    { code: 'backoff', until: 60_000 },
    'The engine refused for now; the pool tries again at 1970-01-01T00:01:00',
  ],
  [
    { code: 'spill_over', afterMs: 1_001 },
    'The pool orders a machine in 2 s if no other worker takes the job (after_s)',
  ],
])('describes the pool blocker %j', (blocker, text) => {
  expect(describePoolBlocker(blocker, iso)).toBe(text);
});

const launch = makeLaunch({ orderedAt: 0 });
const start = 'Requested from pool gpu at 1970-01-01T00:00:00';

test('describes a requested launch with its engine, id, reason and expected start', () => {
  const waiting = makeLaunch({
    ...launch,
    state: 'waiting',
    engineId: '1234',
    reason: { kind: 'resources', text: 'Resources' },
    expectedStart: 60_000,
  });
  const pool = makePool({ engine: { kind: 'slurm' } });
  expect(describeRequest(pool, waiting, iso)).toBe(
    `${start} (Slurm job 1234): waiting for a free machine (Resources); expected to start at 1970-01-01T00:01:00`,
  );
  const kubernetes = makePool({ engine: { kind: 'kubernetes', image: 'a/b' } });
  expect(describeRequest(kubernetes, waiting, iso)).toContain('(Kubernetes job 1234)');
  expect(describeRequest(makePool(), waiting, iso)).toContain('(id 1234)');
});

test('describes a requested launch by its detail or its state when the engine reports no reason', () => {
  expect(describeRequest(makePool(), { ...launch, detail: 'QOS limit' }, iso)).toBe(`${start}: QOS limit`);
  for (const state of LaunchState.options)
    expect(describeRequest(makePool(), { ...launch, state }, iso)).toMatch(/: [a-z][a-z ,]+$/);
  for (const kind of WaitingReason.shape.kind.options) {
    const text = describeRequest(makePool(), { ...launch, reason: { kind, text: 'X' } }, iso);
    expect(text).toMatch(/: (waiting|held).* \(X\)$/);
  }
});
