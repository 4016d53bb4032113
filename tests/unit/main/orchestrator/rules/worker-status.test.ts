/** A worker's status is derived; the first matching rule applies: docs/internals/semantics.md, section 1. */
import { describe, expect, test } from 'vitest';
import { labelsOf, leavesAfterJob } from '../../../../../main/orchestrator/model.ts';
import {
  ineligibilityReasonsOf,
  type WorkerFacts,
  workerStatus,
} from '../../../../../main/orchestrator/rules/worker-status.ts';
import { jobId, makeAgent, makeWorker } from '../builders.ts';

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
  readonly trialInMs?: number;
  readonly troubled?: boolean;
  readonly closed?: boolean;
}

const trouble = { gpu: 1, kind: 'errors', detail: '3 uncorrectable errors' } as const;
const quarantine = { reason: 'three jobs in a row could not start', since: 0 };

function factsFrom(told: Told): WorkerFacts {
  const agent = makeAgent({ persistent: told.persistent === undefined ? true : told.persistent });
  const worker = makeWorker({
    agent: told.registered === false ? null : agent,
    gone: told.gone ?? null,
    drain: told.draining === true ? { reason: 'new GPU', by: 'ann', since: 0, deadlineMs: null } : null,
    served: told.served ?? false,
    quarantine: told.quarantined === true ? quarantine : null,
  });
  const connections = {
    contactAt: now - (told.silentMs ?? 0),
    streaming: told.streaming ?? true,
    settledAt: now + (told.settlingMs ?? 0),
  };
  return {
    worker,
    connections: told.heard === false ? null : connections,
    jobId: told.holdsAttempt === true ? jobId('j1') : null,
    awaited: told.awaited ?? false,
    offlineAfterMs,
    trialAt: told.trialInMs === undefined ? null : now + told.trialInMs,
    troubles: told.troubled === true ? [trouble] : [],
    isClosed: told.closed === true,
  };
}

const codesFrom = (told: Told): readonly string[] =>
  ineligibilityReasonsOf(factsFrom(told), now).map(({ code }) => code);

function statusFrom(told: Told): string {
  const { status, reason } = workerStatus(factsFrom(told), now);
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
  [{ troubled: true }, 'idle: gpu_trouble'],
  [{ closed: true }, 'idle: local_limit'],
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

describe('what keeps every job from a worker', () => {
  test('is nothing when it is there, with a stream and nothing to do', () => {
    expect(codesFrom({})).toEqual([]);
  });

  test('is all of it, in the order of the rules', () => {
    const all = rules.slice(1).reduce<Told>((told, [other]) => ({ ...told, ...other }), {});
    const codes = ['offline', 'draining', 'busy', 'settling', 'no_stream', 'leaving'];
    expect(codesFrom(all)).toEqual([...codes, 'quarantined', 'gpu_trouble', 'local_limit']);
  });

  test('of one that never came is only what the admin has said', () => {
    const all = rules.reduce<Told>((told, [other]) => ({ ...told, ...other }), { heard: false });
    expect(codesFrom(all)).toEqual(['never_registered', 'draining']);
    expect(codesFrom({ registered: false, awaited: true })).toEqual(['never_registered']);
  });

  test('carries what is known of it', () => {
    const told = {
      gone: 'goodbye',
      draining: true,
      holdsAttempt: true,
      quarantined: true,
      troubled: true,
    } as const;
    expect(ineligibilityReasonsOf(factsFrom(told), now)).toEqual([
      { code: 'offline', why: 'goodbye' },
      { code: 'draining', reason: 'new GPU' },
      { code: 'busy', jobId: 'j1' },
      { code: 'quarantined', reason: quarantine.reason },
      { code: 'gpu_trouble', troubles: [trouble] },
    ]);
    expect(ineligibilityReasonsOf(factsFrom({ heard: false }), now)).toEqual([
      { code: 'offline', why: 'silent' },
      { code: 'no_stream' },
    ]);
    expect(ineligibilityReasonsOf(factsFrom({ registered: false, awaited: true }), now)).toEqual([
      { code: 'never_registered', awaited: true },
    ]);
  });

  const flags = [{}, ...rules.map(([told]) => told)];

  test.each(flags.flatMap(one => flags.map(other => ({ ...one, ...other }))))(
    'is there unless the status is idle, and of idle ones in quarantine or with a broken GPU: %o',
    told => {
      const isIdle = statusFrom(told).startsWith('idle');
      const ofIdle = ['quarantined', 'gpu_trouble', 'local_limit'];
      expect(codesFrom(told).filter(code => !ofIdle.includes(code)).length === 0).toBe(isIdle);
      const isHeldBack = told.quarantined === true || told.troubled === true || told.closed === true;
      expect(codesFrom(told).length === 0).toBe(isIdle && !isHeldBack);
    },
  );

  test.each<readonly [when: string, told: Told, codes: readonly string[]]>([
    ['that nobody has set a trial for', {}, ['quarantined']],
    ['before its trial', { trialInMs: 1 }, ['quarantined']],
    ['at its trial', { trialInMs: 0 }, []],
    ['after it', { trialInMs: -1 }, []],
  ])('is a quarantine until the worker is tried again: one %s', (_when, told, codes) => {
    expect(codesFrom({ ...told, quarantined: true })).toEqual(codes);
    expect(statusFrom({ ...told, quarantined: true })).toBe('idle: quarantined');
  });

  test('is not what is left of a trial, out of quarantine', () => {
    expect(codesFrom({ trialInMs: 1 })).toEqual([]);
  });
});
