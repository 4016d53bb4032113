import { describe, expect, test } from 'vitest';
import type { WorkerId } from '../../../../../protocol/ids.ts';
import type { FixedBlocker } from '../../../../../main/orchestrator/rules/queue-rules.ts';
import {
  type Judged,
  plainWait,
  waitForWorkers,
  waitOf,
} from '../../../../../main/orchestrator/rules/waiting.ts';

// Fake conversion of times to text.
const formatTime = (at: number): string => `time ${at}`;

test.each<[FixedBlocker, object]>([
  [{ code: 'approval' }, {}],
  [{ code: 'backoff', until: 7 }, { until: 'time 7' }],
  [{ code: 'paused', by: 'ada', note: null }, { by: 'ada' }],
  [
    { code: 'paused', by: 'ada', note: 'fans' },
    { by: 'ada', note: 'fans' },
  ],
  [
    { code: 'limit', of: 'queue', name: null, running: 2, limit: 2 },
    { running: 2, max: 2 },
  ],
  [
    { code: 'limit', of: 'user', name: 'bob', running: 1, limit: 1 },
    { running: 1, max: 1, user: 'bob' },
  ],
  [
    { code: 'limit', of: 'team', name: 'nlp', running: 3, limit: 3 },
    { running: 3, max: 3, team: 'nlp' },
  ],
])('converts the blocker %j to its code and parameters', (blocker, params) => {
  expect(waitOf(blocker, formatTime)).toEqual({ code: blocker.code, params, workers: [] });
});

describe('waitForWorkers', () => {
  const makeJudged = (
    ineligibilityReasons: Judged['candidate']['ineligibilityReasons'],
    mismatches: Judged['mismatches'] = [],
  ): Judged => ({
    candidate: {
      id: 'w' as WorkerId,
      name: 'rig',
      local: false,
      isKnown: true,
      datasets: [],
      offering: {} as Judged['candidate']['offering'],
      ineligibilityReasons,
    },
    mismatches,
    fits: false,
  });
  const missingGpus: Judged['mismatches'] = [{ code: 'gpu_count', wanted: '8', offered: '2' }];

  test('returns no_workers when no worker exists', () => {
    expect(waitForWorkers([])).toEqual(plainWait('no_workers'));
  });

  test('returns unmet when no worker meets the requirements', () => {
    expect(
      waitForWorkers([makeJudged([], missingGpus), makeJudged([{ code: 'settling' }], missingGpus)]),
    ).toEqual({ code: 'unmet', params: {}, workers: [{ code: 'gpu_count', count: 2 }] });
  });

  test('returns unmet when no registered worker meets the requirements', () => {
    const awaited = makeJudged([{ code: 'never_registered', awaited: true }]);
    const unknown = { ...awaited, candidate: { ...awaited.candidate, isKnown: false } };
    expect(waitForWorkers([makeJudged([], missingGpus), unknown])).toEqual({
      code: 'unmet',
      params: {},
      workers: [{ code: 'gpu_count', count: 1 }],
    });
    expect(waitForWorkers([unknown]).workers).toEqual([{ code: 'never_registered', count: 1 }]);
  });

  test('counts each fitting worker once, by its first ineligibility reason', () => {
    const workers = [
      makeJudged([{ code: 'settling' }, { code: 'no_stream' }]),
      makeJudged([{ code: 'no_stream' }]),
      makeJudged([{ code: 'settling' }]),
      makeJudged([], missingGpus),
    ];
    expect(waitForWorkers(workers)).toEqual({
      code: 'busy',
      params: {},
      workers: [
        { code: 'settling', count: 2 },
        { code: 'no_stream', count: 1 },
      ],
    });
  });

  test('returns the id of the worker when only one meets the requirements', () => {
    expect(waitForWorkers([makeJudged([{ code: 'settling' }]), makeJudged([], missingGpus)])).toEqual({
      code: 'busy',
      params: { worker_id: 'w' },
      workers: [{ code: 'settling', count: 1 }],
    });
  });
});
