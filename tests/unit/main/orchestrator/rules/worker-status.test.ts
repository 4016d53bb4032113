import { describe, expect, test } from 'vitest';
import { labelsOf, leavesAfterJob } from '../../../../../main/orchestrator/model.ts';
import {
  ineligibilityReasonsOf,
  type WorkerFacts,
  workerStatus,
} from '../../../../../main/orchestrator/rules/worker-rules.ts';
import { jobId, makeAgent, makeUpdate, makeWorker } from '../builders.ts';

// See docs/internals/semantics.md, section 1: the first matching rule decides.

const offlineAfterMs = 120_000;
const now = 900_000;

// Facts as flags and numbers. The defaults describe an idle worker.
interface Flags {
  /** The worker has never registered, but still counts as connecting. */
  readonly awaited?: boolean;
  readonly registered?: boolean;
  readonly gone?: 'goodbye' | 'silent';
  readonly contacted?: boolean;
  readonly silentMs?: number;
  readonly draining?: boolean;
  readonly hasAttempt?: boolean;
  readonly settlingMs?: number;
  readonly streaming?: boolean;
  /** An attempt has ended on the worker since the agent started. */
  readonly served?: boolean;
  readonly persistent?: boolean | null;
  readonly quarantined?: boolean;
  readonly trialInMs?: number;
  readonly troubled?: boolean;
  readonly atLocalLimit?: boolean;
}

const trouble = { gpu: 1, kind: 'errors', detail: '3 uncorrectable errors' } as const;
const quarantine = { reason: 'three jobs in a row could not start', since: 0 };

function factsFrom(flags: Flags): WorkerFacts {
  const agent = makeAgent({ persistent: flags.persistent === undefined ? true : flags.persistent });
  const worker = makeWorker({
    agent: flags.registered === false ? null : agent,
    gone: flags.gone ?? null,
    drain: flags.draining === true ? { reason: 'new GPU', by: 'ann', since: 0, deadlineMs: null } : null,
    served: flags.served ?? false,
    quarantine: flags.quarantined === true ? quarantine : null,
  });
  const presence = {
    contactAt: now - (flags.silentMs ?? 0),
    streaming: flags.streaming ?? true,
    settledAt: now + (flags.settlingMs ?? 0),
  };
  return {
    worker,
    presence: flags.contacted === false ? null : presence,
    jobId: flags.hasAttempt === true ? jobId('j1') : null,
    awaited: flags.awaited ?? false,
    offlineAfterMs,
    trialAt: flags.trialInMs === undefined ? null : now + flags.trialInMs,
    rigClosedReason: null,
    troubles: flags.troubled === true ? [trouble] : [],
    isAtLocalLimit: flags.atLocalLimit === true,
  };
}

const reasonCodes = (flags: Flags): readonly string[] =>
  ineligibilityReasonsOf(factsFrom(flags), now).map(({ code }) => code);

function statusFrom(flags: Flags): string {
  const { status, reason } = workerStatus(factsFrom(flags), now);
  return reason === null ? status : `${status}: ${reason}`;
}

test('returns idle for a connected worker with a stream and no job', () => {
  expect(statusFrom({})).toBe('idle');
});

// The rules in order. Each rule takes precedence over all later rules.
const rules: readonly (readonly [flags: Flags, status: string])[] = [
  [{ registered: false }, 'offline: never_registered'],
  [{ gone: 'goodbye' }, 'offline: goodbye'],
  [{ silentMs: 120_000 }, 'offline: silent'],
  [{ draining: true }, 'draining: new GPU'],
  [{ hasAttempt: true }, 'busy'],
  [{ settlingMs: 1 }, 'busy: settling'],
  [{ streaming: false }, 'connecting: no_stream'],
  [{ served: true, persistent: false }, 'busy: leaving'],
  [{ quarantined: true }, 'idle: quarantined'],
  [{ troubled: true }, 'idle: gpu_trouble'],
  [{ atLocalLimit: true }, 'idle: local_limit'],
];

test.each(rules)('derives the status from %o alone: %s', (flags, status) => {
  expect(statusFrom(flags)).toBe(status);
});

test.each(rules.map(([flags, status], index) => ({ flags, status, later: rules.slice(index + 1) })))(
  'prefers $status to every later rule',
  ({ flags, status, later }) => {
    let allLater: Flags = {};
    for (const [laterFlags] of later) {
      expect(statusFrom({ ...laterFlags, ...flags })).toBe(status);
      allLater = { ...allLater, ...laterFlags };
    }
    expect(statusFrom({ ...allLater, ...flags })).toBe(status);
  },
);

describe('boundaries of the worker status', () => {
  test.each<readonly [flags: Flags, status: string]>([
    [{ registered: false, awaited: true }, 'connecting: never_registered'],
    [{ registered: true, awaited: true }, 'idle'],
    [{ silentMs: 119_999 }, 'idle'],
    [{ silentMs: 120_000 }, 'offline: silent'],
    [{ silentMs: 120_001, draining: true }, 'offline: silent'],
    [{ settlingMs: 0 }, 'idle'],
  ])('derives the status at the boundary %o: %s', (flags, status) => {
    expect(statusFrom(flags)).toBe(status);
  });

  test('treats a worker that was not in contact with this process as silent', () => {
    expect(statusFrom({ contacted: false })).toBe('offline: silent');
  });

  test('keeps a worker offline that was marked as silent, even if its last contact looks recent', () => {
    expect(statusFrom({ gone: 'silent' })).toBe('offline: silent');
  });
});

describe('an agent that leaves after its job', () => {
  test.each([
    [true, 'idle'],
    [false, 'busy: leaving'],
    [null, 'busy: leaving'],
  ])('derives the status after a job of an agent with persistent=%s: %s', (persistent, status) => {
    expect(statusFrom({ served: true, persistent })).toBe(status);
    expect(statusFrom({ served: false, persistent })).toBe('idle');
  });

  test('treats a worker without an agent as leaving after its job', () => {
    expect(leavesAfterJob(makeWorker({ agent: null }))).toBe(true);
  });
});

test("prefers the admin's labels to the agent's labels", () => {
  const agent = makeAgent({ labels: { gpu: 'a100', rack: '4' } });
  expect(labelsOf(makeWorker({ agent, labels: { gpu: 'h100', team: 'nlp' } }))).toEqual({
    gpu: 'h100',
    rack: '4',
    team: 'nlp',
  });
  expect(labelsOf(makeWorker({ agent: null, labels: { team: 'nlp' } }))).toEqual({ team: 'nlp' });
});

function mergeFlags(selectedRules: typeof rules): Flags {
  let merged: Flags = {};
  for (const [flags] of selectedRules) merged = { ...merged, ...flags };
  return merged;
}

describe('ineligibilityReasonsOf', () => {
  test('returns updating for a worker that is being updated, and shows updating as the status reason', () => {
    const facts = factsFrom({});
    const update = makeUpdate({ state: 'restarting' });
    const updating = { ...facts, worker: { ...facts.worker, update } };
    expect(ineligibilityReasonsOf(updating, now)).toEqual([{ code: 'updating' }]);
    expect(workerStatus(updating, now)).toEqual({ status: 'idle', reason: 'updating' });
  });

  test('returns no reason for an idle worker', () => {
    expect(reasonCodes({})).toEqual([]);
  });

  test('returns all reasons in the order of the rules', () => {
    const all = mergeFlags(rules.slice(1));
    const codes = ['offline', 'draining', 'busy', 'settling', 'no_stream', 'leaving'];
    expect(reasonCodes(all)).toEqual([...codes, 'quarantined', 'gpu_trouble', 'local_limit']);
  });

  test('returns, besides never_registered, only the drain for a worker that never registered', () => {
    const all = { contacted: false, ...mergeFlags(rules) };
    expect(reasonCodes(all)).toEqual(['never_registered', 'draining']);
    expect(reasonCodes({ registered: false, awaited: true })).toEqual(['never_registered']);
  });

  test('includes the known details of each reason', () => {
    const flags = {
      gone: 'goodbye',
      draining: true,
      hasAttempt: true,
      quarantined: true,
      troubled: true,
    } as const;
    expect(ineligibilityReasonsOf(factsFrom(flags), now)).toEqual([
      { code: 'offline', why: 'goodbye' },
      { code: 'draining', reason: 'new GPU' },
      { code: 'busy', jobId: 'j1' },
      { code: 'quarantined', reason: quarantine.reason },
      { code: 'gpu_trouble', troubles: [trouble] },
    ]);
    expect(ineligibilityReasonsOf(factsFrom({ contacted: false }), now)).toEqual([
      { code: 'offline', why: 'silent' },
      { code: 'no_stream' },
    ]);
    expect(ineligibilityReasonsOf(factsFrom({ registered: false, awaited: true }), now)).toEqual([
      { code: 'never_registered', awaited: true },
    ]);
  });

  const singleRules = [{}, ...rules.map(([flags]) => flags)];
  const pairsOfRules = singleRules.flatMap(first => singleRules.map(second => ({ ...first, ...second })));

  test.each(pairsOfRules)(
    'returns no reason exactly for idle workers without quarantine, GPU problem or local limit: %o',
    flags => {
      const isIdle = statusFrom(flags).startsWith('idle');
      const reasonsOfIdleWorkers = ['quarantined', 'gpu_trouble', 'local_limit'];
      expect(reasonCodes(flags).filter(code => !reasonsOfIdleWorkers.includes(code)).length === 0).toBe(
        isIdle,
      );
      const isHeldBack = flags.quarantined === true || flags.troubled === true || flags.atLocalLimit === true;
      expect(reasonCodes(flags).length === 0).toBe(isIdle && !isHeldBack);
    },
  );

  test.each<readonly [title: string, flags: Flags, codes: readonly string[]]>([
    ['without a trial time', {}, ['quarantined']],
    ['before its trial time', { trialInMs: 1 }, ['quarantined']],
    ['at its trial time', { trialInMs: 0 }, []],
    ['after its trial time', { trialInMs: -1 }, []],
  ])('returns a quarantine as reason until the trial: %s', (_case, flags, codes) => {
    expect(reasonCodes({ ...flags, quarantined: true })).toEqual(codes);
    expect(statusFrom({ ...flags, quarantined: true })).toBe('idle: quarantined');
  });

  test('ignores a trial time without a quarantine', () => {
    expect(reasonCodes({ trialInMs: 1 })).toEqual([]);
  });
});
