import { describe, expect, it } from 'vitest';
import type { ClientLine } from '../../chaos/journal.ts';
import { judgeAudit, judgeEvents } from '../../chaos/judge/history.ts';
import { judgeRemains } from '../../chaos/judge/remains.ts';
import { judgeAnswers, judgeSubmits } from '../../chaos/judge/submits.ts';
import type { EventLine } from '../../support/stream-record.ts';
import { planned } from './cases.ts';

const rulesOf = (violations: readonly { readonly rule: string }[]): readonly string[] =>
  violations.map(({ rule }) => rule);
const submission: ClientLine = { kind: 'submit', at: 0, job: planned };
/** The response to a submission. `status` is null when no response arrived. */
const answered = (n: number, status: number | null, id: string | null = null): ClientLine => ({
  kind: 'answer',
  at: 1,
  n,
  status,
  id,
});

describe('judgeSubmits', () => {
  it('finds no violation when each accepted job ended', () => {
    const lines = [submission, answered(0, null), answered(0, 200, 'j_1')];
    expect(judgeSubmits(lines, new Map([['j_1', 'completed']]))).toEqual([]);
  });

  it.each([
    ['accepted jobs exist', [answered(0, 200, 'j_1')], []],
    ['jobs end', [answered(0, 200, 'j_1')], [['j_1', 'running']]],
    [
      'one job per key',
      [answered(0, 200, 'j_1'), answered(0, 200, 'j_2')],
      [
        ['j_1', 'failed'],
        ['j_2', 'failed'],
      ],
    ],
    ['one job per submission', [answered(0, 503)], [['j_1', 'failed']]],
  ] as const)('reports submissions that violate the rule "%s"', (rule, lines, statuses) => {
    expect(rulesOf(judgeSubmits(lines, new Map(statuses)))).toEqual([rule]);
  });

  it('attributes an unknown job to a submission that was never answered', () => {
    expect(judgeSubmits([answered(0, null)], new Map([['j_1', 'failed']]))).toEqual([]);
  });

  it('reports 500 and 502 as internal errors, but not 503 and 507', () => {
    const call = (status: number): ClientLine => ({ kind: 'call', at: 0, call: 'POST /api/backup', status });
    expect(judgeAnswers([answered(0, 503), answered(0, 507), call(404)])).toEqual([]);
    expect(
      judgeAnswers([answered(3, 500), call(502), { kind: 'cancel', at: 0, id: 'j_1', status: 500 }]),
    ).toEqual([
      { rule: 'no internal errors', what: 'submit 3 returned status 500' },
      { rule: 'no internal errors', what: 'POST /api/backup returned status 502' },
      { rule: 'no internal errors', what: 'cancel returned status 500' },
    ]);
  });
});

const event = (seq: number, type: string, attempt = 1): EventLine => ({
  seq,
  kind: 'job',
  type,
  job_id: 'j_1',
  worker_id: attempt === 0 ? null : 'w_1',
  attempt,
  cause: null,
  job: null,
  worker: null,
});
/** The events of a job that completed. */
const jobEvents = [event(1, 'job.submitted', 0), event(2, 'job.dispatched'), event(3, 'job.completed')];
const row = (event_type: string, attempt: number | null = 1) => ({
  event_type,
  target_type: 'job',
  target_id: 'j_1',
  details: { attempt },
});
const rows = [
  row('job.submitted', 0),
  row('artifact.stored', null),
  row('job.dispatched'),
  row('job.completed'),
];

describe('judgeEvents and judgeAudit', () => {
  const stream = { events: jobEvents, faults: [], lastSeq: 3 };
  const ended = new Map([['j_1', 'completed']]);

  it('finds no violation when events, statuses and audit agree', () => {
    expect(judgeEvents(stream, ended)).toEqual([]);
    expect(judgeAudit({ rows, verdict: { valid: true } }, jobEvents)).toEqual([]);
  });

  it.each([
    ['the event stream is complete', { ...stream, faults: ['event 3 after 1'] }],
    ['the event stream is complete', { ...stream, lastSeq: 4 }],
    [
      'history is possible',
      { ...stream, events: [...jobEvents, event(4, 'job.running'), event(5, 'job.completed')] },
    ],
    [
      'the last event of a job matches its status',
      { ...stream, events: [...jobEvents.slice(0, 2), event(3, 'job.failed')] },
    ],
  ])('reports an event stream that violates the rule "%s"', (rule, wrongStream) => {
    expect(rulesOf(judgeEvents(wrongStream, ended))).toContain(rule);
  });

  it('reports a broken audit chain, a missing audit row and an extra audit row', () => {
    const verdict = { valid: true };
    expect(rulesOf(judgeAudit({ rows, verdict: { valid: false } }, jobEvents))).toEqual([
      'the audit trail verifies',
    ]);
    const missing = judgeAudit({ rows: rows.slice(0, 3), verdict }, jobEvents);
    expect(rulesOf(missing)).toEqual(['one audit row per transition']);
    const extra = judgeAudit({ rows: [row('job.running'), ...rows], verdict }, jobEvents);
    expect(rulesOf(extra)).toEqual(['one audit row per transition']);
  });
});

describe('judgeRemains', () => {
  const idle = {
    id: 'w_1',
    name: 'rig-1',
    status: 'idle',
    status_reason: null,
    current_job_id: null,
    quarantine: null,
  };
  const exit = { at: 0, who: 'rig-1', pid: 1, code: 0, signal: null, expected: 'the run is over' };
  const remains = {
    workers: [idle],
    exits: [exit],
    processes: [],
    descriptors: { before: 2, after: ['a', 'b'] },
    memoryGrowth: 0,
    oldTokens: [401],
  };

  it('finds no violation when all workers are idle and no process remains', () => {
    expect(judgeRemains(remains)).toEqual([]);
  });

  it.each([
    ['workers are idle at the end', { workers: [{ ...idle, status: 'offline' }] }],
    ['workers are idle at the end', { workers: [{ ...idle, current_job_id: 'j_1' }] }],
    [
      'no healthy worker is quarantined',
      { workers: [{ ...idle, quarantine: { reason: 'three jobs died' } }] },
    ],
    ['no program ends unexpectedly', { exits: [{ ...exit, code: 1, expected: null }] }],
    ['no process outlives the run', { processes: ['process 7: trainer'] }],
    ['all file descriptors are closed', { descriptors: { before: 1, after: ['a', 'socket'] } }],
    ['memory is bounded', { memoryGrowth: 300 * 1_048_576 }],
    ['replaced tokens are rejected', { oldTokens: [401, 200] }],
  ])('reports remains that violate the rule "%s"', (rule, wrongRemains) => {
    expect(rulesOf(judgeRemains({ ...remains, ...wrongRemains }))).toEqual([rule]);
  });
});
