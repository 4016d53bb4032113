/** A worker's status is derived, and the first rule that matches wins: SEMANTICS.md, section 1. */
import { describe, expect, test } from 'vitest';
import { labelsOf, leavesAfterJob } from '../../../main/orchestrator/model.ts';
import { isDispatchable, type WorkerFacts, workerStatus } from '../../../main/orchestrator/worker-status.ts';
import { WorkerStatus } from '../../../protocol/worker.ts';
import { makeAgent, makeWorker } from './builders.ts';

const offlineAfterMs = 120_000;
const now = 900_000;

/** Facts as flags and figures; by default those of an idle worker. */
interface Told {
  readonly awaited?: boolean;
  readonly registered?: boolean;
  readonly gone?: 'goodbye' | 'silent';
  readonly heard?: boolean;
  readonly silentMs?: number;
  readonly draining?: boolean;
  readonly holdsAttempt?: boolean;
  readonly settlingMs?: number;
  readonly streaming?: boolean;
  readonly served?: boolean;
  readonly persistent?: boolean | null;
  readonly quarantined?: boolean;
}

const quarantine = { reason: 'three jobs in a row could not start', since: 0 };

function statusFrom(told: Told): string {
  const agent = makeAgent({ persistent: told.persistent === undefined ? true : told.persistent });
  const worker = makeWorker({
    agent: told.registered === false ? null : agent,
    gone: told.gone ?? null,
    drain: told.draining === true ? { reason: 'new GPU', by: 'ann', since: 0, deadlineMs: null } : null,
    served: told.served ?? false,
    quarantine: told.quarantined === true ? quarantine : null,
  });
  const presence = {
    contactAt: now - (told.silentMs ?? 0),
    streaming: told.streaming ?? true,
    settledAt: now + (told.settlingMs ?? 0),
  };
  const facts: WorkerFacts = {
    worker,
    presence: told.heard === false ? null : presence,
    holdsAttempt: told.holdsAttempt ?? false,
    awaited: told.awaited ?? false,
    offlineAfterMs,
  };
  const { status, reason } = workerStatus(facts, now);
  return reason === null ? status : `${status}: ${reason}`;
}

test('a worker that is there, with a stream and nothing to do, is idle', () => {
  expect(statusFrom({})).toBe('idle');
});

/** In the order of the rules: each holds whatever the later ones would say. */
const rules: readonly (readonly [told: Told, status: string])[] = [
  [{ registered: false }, 'offline: never_registered'],
  [{ gone: 'goodbye' }, 'offline: goodbye'],
  [{ silentMs: 120_000 }, 'offline: silent'],
  [{ draining: true }, 'draining: new GPU'],
  [{ holdsAttempt: true }, 'busy'],
  [{ settlingMs: 1 }, 'busy: settling'],
  [{ streaming: false }, 'connecting: no_stream'],
  [{ served: true, persistent: false }, 'busy: leaving'],
  [{ quarantined: true }, 'idle: quarantined'],
];

test.each(rules)('%o alone -> %s', (told, status) => {
  expect(statusFrom(told)).toBe(status);
});

test.each(rules.map(([told, status], index) => ({ told, status, later: rules.slice(index + 1) })))(
  '$status wins over what comes later in the table',
  ({ told, status, later }) => {
    for (const [other] of later) expect(statusFrom({ ...other, ...told })).toBe(status);
    const allAtOnce = later.reduce<Told>((all, [other]) => ({ ...all, ...other }), {});
    expect(statusFrom({ ...allAtOnce, ...told })).toBe(status);
  },
);

describe('boundaries', () => {
  test.each<readonly [told: Told, status: string]>([
    [{ registered: false, awaited: true }, 'connecting: never_registered'],
    [{ registered: true, awaited: true }, 'idle'],
    [{ silentMs: 119_999 }, 'idle'],
    [{ silentMs: 120_000 }, 'offline: silent'],
    [{ silentMs: 120_001, draining: true }, 'offline: silent'],
    [{ settlingMs: 0 }, 'idle'],
  ])('%o -> %s', (told, status) => {
    expect(statusFrom(told)).toBe(status);
  });

  test('a worker that was never heard by this process counts as silent', () => {
    expect(statusFrom({ heard: false })).toBe('offline: silent');
  });

  test('one that had been given up for silent says so, even if its last contact looks recent', () => {
    expect(statusFrom({ gone: 'silent' })).toBe('offline: silent');
  });
});

describe('an agent that leaves after its job', () => {
  test.each([
    [true, 'idle'],
    [false, 'busy: leaving'],
    [null, 'busy: leaving'],
  ])('persistent: %s -> %s once it has served', (persistent, status) => {
    expect(statusFrom({ served: true, persistent })).toBe(status);
    expect(statusFrom({ served: false, persistent })).toBe('idle');
  });

  test('is not kept when nothing is known of its ways', () => {
    expect(leavesAfterJob(makeWorker({ agent: null }))).toBe(true);
  });
});

test('the labels of the admin win over those that the agent brings', () => {
  const agent = makeAgent({ labels: { gpu: 'a100', rack: '4' } });
  expect(labelsOf(makeWorker({ agent, labels: { gpu: 'h100', team: 'nlp' } }))).toEqual({
    gpu: 'h100',
    rack: '4',
    team: 'nlp',
  });
  expect(labelsOf(makeWorker({ agent: null, labels: { team: 'nlp' } }))).toEqual({ team: 'nlp' });
});

describe('a job may be given', () => {
  const idle = { status: 'idle', reason: null } as const;
  const suspect = makeWorker({ quarantine });

  test.each(WorkerStatus.options)('to a worker that is idle, and to no other: %s', status => {
    expect(isDispatchable({ status, reason: null }, makeWorker(), null, now)).toBe(status === 'idle');
  });

  test.each([
    ['that nobody has set a trial for', null, false],
    ['before its trial', now + 1, false],
    ['at its trial', now, true],
    ['after it', now - 1, true],
  ])('to one in quarantine only when it is tried again: %s', (_when, trialAt, expected) => {
    expect(isDispatchable(idle, suspect, trialAt, now)).toBe(expected);
  });

  test('to one that is out of quarantine, whatever is left of its trial', () => {
    expect(isDispatchable(idle, makeWorker(), now + 1, now)).toBe(true);
  });
});
