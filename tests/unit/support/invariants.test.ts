/**
 * Tests each check with a run that breaks exactly one invariant, to prove that the check can fail. Section 1 of
 * docs/internals/faults.md lists the invariants, such as I1.
 */
import { describe, expect, test } from 'vitest';
import { type Evidence, judge } from '../../support/invariants.ts';
import type { EventLine } from '../../support/stream-record.ts';
import { runsOf, type TrainerLine } from '../../support/trainer-record.ts';

const mib = 1_048_576;
const token = 'wt_0123456789abcdef0123456789abcdef';

type EventRow = readonly [type: string, job: string | null, worker: string | null, attempt?: number];

const toEvents = (history: readonly EventRow[]): readonly EventLine[] =>
  history.map(([type, job, worker, attempt = 0], index) => ({
    seq: index + 1,
    kind: job === null ? 'worker' : 'job',
    type,
    job_id: job,
    worker_id: worker,
    attempt,
    cause: null,
    job: null,
    worker: null,
  }));

const toAuditRows = (events: readonly EventLine[]): readonly string[] =>
  events
    .filter(({ type }) => type !== 'job.progress')
    .map(({ type, job_id: job, worker_id: worker, attempt }) =>
      job ? `${type} of ${job} (${attempt})` : `${type} of ${worker}`,
    );

/** A job runs first on w_1 and then on w_2, while w_3 is drained and undrained. */
const goodHistory: readonly EventRow[] = [
  ['job.submitted', 'j_1', null],
  ['job.dispatched', 'j_1', 'w_1', 1],
  ['job.running', 'j_1', 'w_1', 1],
  ['job.progress', 'j_1', 'w_1', 1],
  ['worker.draining', null, 'w_3'],
  ['job.requeued', 'j_1', 'w_1', 1],
  ['job.dispatched', 'j_1', 'w_2', 2],
  ['worker.undrained', null, 'w_3'],
  ['job.completed', 'j_1', 'w_2', 2],
  ['job.late_result', 'j_1', 'w_2', 2],
];

const line = (kind: TrainerLine['kind'], at: number, pid: number): TrainerLine => ({
  kind,
  at,
  pid,
  job: 'j_1',
});
const lines = [line('start', 1, 11), line('tick', 2, 11), line('start', 3, 12), line('end', 4, 12)];

const attempt = { job_id: 'j_1', outcome: 'completed', ended_at: 1 };

/** Returns the evidence of a run without broken invariants, with the given changes. */
function evidence(changes: Partial<Evidence> = {}, history = goodHistory): Evidence {
  const events = changes.events ?? toEvents(history);
  return {
    accepted: ['j_1'],
    statuses: new Map([['j_1', 'completed']]),
    events,
    streamFaults: [],
    connections: 3,
    lastSeq: events.length,
    audit: { status: 200, body: { valid: true } },
    stored: {
      jobs: new Map([['j_1', 'completed']]),
      attempts: [
        { ...attempt, id: 'a_1', n: 1, worker_id: 'w_1', outcome: 'requeued' },
        { ...attempt, id: 'a_2', n: 2, worker_id: 'w_2' },
      ],
      transitions: toAuditRows(events),
      integrity: 'ok',
      indexesAndTriggers: ['one_live_attempt_per_job', 'one_live_attempt_per_worker', 'ended_jobs_stay'],
    },
    runs: runsOf(lines),
    mayOverlap: new Set(),
    leftTrainers: [],
    texts: new Map([['a log', `wt_ and ${token.slice(0, 12)}`]]),
    openTexts: new Map([['a log', 'nothing']]),
    secrets: new Map([['the token', token]]),
    canary: 'canary-1',
    oldTokens: [{ call: 'POST /x', status: 401 }],
    baseline: { descriptors: ['socket'], memory: 100 * mib },
    atEnd: { descriptors: ['socket'], memory: 150 * mib },
    ...changes,
  };
}

const stored = (changes: Partial<Evidence['stored']>): Evidence =>
  evidence({ stored: { ...evidence().stored, ...changes } });
const withEvents = (...events: readonly EventRow[]): Evidence => evidence({}, [...goodHistory, ...events]);
const liveAttempt = (id: string, job: string, worker: string) => ({
  ...attempt,
  id,
  n: 1,
  job_id: job,
  worker_id: worker,
  ended_at: null,
  outcome: null,
});

test('reports that every invariant holds in a good run', () => {
  expect(judge(evidence())).toEqual({
    held: ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7', 'I8', 'I9', 'I10', 'I12'],
    broken: [],
  });
});

test('does not report an invariant as held when the run had nothing to check', () => {
  const { held, broken } = judge(
    evidence({ oldTokens: [], runs: [], connections: 1, events: toEvents([]), lastSeq: 0, accepted: [] }),
  );
  expect(['I1', 'I6', 'I8', 'I9', 'I12'].filter(id => held.includes(id))).toEqual([]);
  // The job is stored as completed, but no event says so.
  expect(broken).toEqual([expect.stringMatching(/^I3 j_1 is stored as completed/)]);
});

const brokenRuns: readonly (readonly [id: string, title: string, evidence: Evidence])[] = [
  ['I1', 'an accepted job is missing', evidence({ statuses: new Map() })],
  ['I1', 'an accepted job never ends', evidence({ statuses: new Map([['j_1', 'pending']]) })],
  [
    'I1',
    'the API reports another status than the store',
    evidence({ statuses: new Map([['j_1', 'failed']]) }),
  ],
  ['I2', 'the database is damaged', stored({ integrity: 'row 3 missing from index' })],
  [
    'I2',
    'the schema lacks an index',
    stored({ indexesAndTriggers: evidence().stored.indexesAndTriggers.slice(1) }),
  ],
  [
    'I2',
    'a job has two live attempts',
    stored({ attempts: [liveAttempt('a', 'j_1', 'w_1'), liveAttempt('b', 'j_1', 'w_2')] }),
  ],
  [
    'I2',
    'a worker has two live attempts',
    stored({ attempts: [liveAttempt('a', 'j_1', 'w_1'), liveAttempt('b', 'j_2', 'w_1')] }),
  ],
  [
    'I2',
    'a busy worker gets a second job',
    withEvents(['job.dispatched', 'j_2', 'w_1', 1], ['job.dispatched', 'j_3', 'w_1', 1]),
  ],
  ['I3', 'an ended job changes again', withEvents(['job.cancelling', 'j_1', 'w_2', 2])],
  [
    'I3',
    'a final state has no event',
    stored({
      jobs: new Map([
        ['j_1', 'completed'],
        ['j_2', 'failed'],
      ]),
    }),
  ],
  ['I4', 'an attempt number is skipped', withEvents(['job.dispatched', 'j_2', 'w_1', 2])],
  [
    'I4',
    'an older attempt changes its job',
    withEvents(
      ['job.dispatched', 'j_2', 'w_1', 1],
      ['job.requeued', 'j_2', 'w_1', 1],
      ['job.dispatched', 'j_2', 'w_2', 2],
      ['job.completed', 'j_2', 'w_1', 1],
    ),
  ],
  [
    'I4',
    'two attempts have an accepted result',
    stored({ attempts: evidence().stored.attempts.map(each => ({ ...each, outcome: 'completed' })) }),
  ],
  ['I5', 'the audit chain does not verify', evidence({ audit: { status: 200, body: { valid: false } } })],
  ['I5', 'the audit log is unreadable', evidence({ audit: { status: 404, body: null } })],
  ['I5', 'a transition has no row', stored({ transitions: evidence().stored.transitions.slice(1) })],
  ['I6', 'the stream has a gap', evidence({ streamFaults: ['event 4 after 2'] })],
  ['I6', 'the end of the stream is missing', evidence({ lastSeq: 99 })],
  ['I7', 'a log contains a token', evidence({ texts: new Map([['a log', `x${token}y`]]) })],
  ['I7', 'a response contains a config', evidence({ openTexts: new Map([['an answer', '{"canary-1":1}']]) })],
  [
    'I7',
    "a trainer's environment contains a token",
    evidence({ runs: runsOf([{ ...line('start', 1, 11), leaks: ['TOKEN'] }]) }),
  ],
  [
    'I8',
    'a draining worker gets an offer',
    withEvents(['worker.draining', null, 'w_3'], ['job.dispatched', 'j_2', 'w_3', 1]),
  ],
  ['I9', 'a rotated token is accepted', evidence({ oldTokens: [{ call: 'POST /x', status: 200 }] })],
  ['I10', 'a file descriptor leaks', evidence({ atEnd: { descriptors: ['socket', 'pipe'], memory: 0 } })],
  ['I10', 'memory leaks', evidence({ atEnd: { descriptors: [], memory: 500 * mib } })],
  ['I12', 'a job has two running trainers', evidence({ runs: runsOf([...lines, line('tick', 5, 11)]) })],
  ['I12', 'a trainer outlives its job', evidence({ leftTrainers: [11] })],
];

describe('a broken invariant', () => {
  test.each(brokenRuns)('reports only %s when %s', (id, _title, brokenEvidence) => {
    const verdict = judge(brokenEvidence);
    expect(verdict.held).not.toContain(id);
    // Each message starts with the id of the invariant.
    expect(new Set(verdict.broken.map(message => message.split(' ')[0]))).toEqual(new Set([id]));
  });
});

test('allows two trainers to overlap when the first worker was unreachable', () => {
  const runs = runsOf([...lines, line('tick', 5, 11)]);
  expect(judge(evidence({ runs, mayOverlap: new Set(['j_1']) })).broken).toEqual([]);
});
