import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndReason, Launch } from '../../../../../main/orchestrator/pool-model.ts';
import type { Sighting } from '../../../../../main/orchestrator/ports/engines.ts';
import {
  advanceLaunch,
  type LaunchEvent,
  maxMissing,
  unclearMs,
} from '../../../../../main/orchestrator/rules/launch-lifecycle.ts';
import { LaunchState } from '../../../../../protocol/pool.ts';
import { freezeDeep, NOW } from '../builders.ts';
import { makeLaunch, makeSighting } from '../pool-builders.ts';

const reasons: readonly EndReason[] = [
  'not_needed',
  'idle',
  'left',
  'cancelled',
  'never_joined',
  'test_over',
];
const exits: readonly Sighting['exit'][] = [
  'completed',
  'failed',
  'cancelled',
  'preempted',
  'timeout',
  'node_failed',
  null,
];

type NamedEvent = { readonly name: string; readonly event: LaunchEvent };

const named = (name: string, event: LaunchEvent): NamedEvent => ({ name, event });
// Creates the event that a list of the engine contains the launch.
const sight = (changes: Partial<Sighting>): LaunchEvent => ({
  type: 'sight',
  sighting: makeSighting(changes),
});

// Returns every event of a launch. `miss` is a list of the engine without the launch. `early miss` is such a list
// that was requested too early to count.
const eventsAt = (now: number): readonly NamedEvent[] => [
  named('submit', { type: 'submit' }),
  named('accept', { type: 'accept', engineId: '7' }),
  named('refuse for now', { type: 'refuse', scope: 'temporary', message: 'busy' }),
  named('refuse', { type: 'refuse', scope: 'permanent', message: 'no such machine' }),
  named('unanswered', { type: 'unanswered', message: 'no answer' }),
  named('sight waiting', sight({ reason: { kind: 'resources', text: 'Resources' }, expectedStart: now + 9 })),
  named('sight running', sight({ state: 'running', startedAt: now - 5, endsAt: now + 9, nodes: ['n1'] })),
  ...exits.map(exit => named('sight ended', sight({ state: 'ended', exit }))),
  named('miss', { type: 'miss', listedAt: now }),
  named('early miss', { type: 'miss', listedAt: 0 }),
  named('join', { type: 'join' }),
  named('leave', { type: 'leave' }),
  ...reasons.map(why => named('end', { type: 'end', why, detail: 'why' })),
  named('end asked', { type: 'end_asked' }),
];

// The expected state after each event, by the state before. Without an entry, the state stays the same.
const transitions: { readonly [S in LaunchState]: Readonly<Record<string, LaunchState>> } = (() => {
  const sighted = { 'sight waiting': 'waiting', 'sight running': 'running', 'sight ended': 'ended' } as const;
  const answered = { accept: 'waiting', 'refuse for now': 'wanted', refuse: 'ended' } as const;
  return {
    wanted: { ...sighted, submit: 'submitting', join: 'joined', end: 'ended' },
    submitting: { ...sighted, ...answered, unanswered: 'unclear', join: 'joined', end: 'ending' },
    unclear: { ...sighted, ...answered, miss: 'wanted', join: 'joined', end: 'ending' },
    waiting: { ...sighted, 'third miss': 'ended', join: 'joined', end: 'ending' },
    running: { ...sighted, 'third miss': 'ended', join: 'joined', end: 'ending' },
    joined: { 'sight ended': 'ended', 'third miss': 'ended', leave: 'ending', end: 'ending' },
    ending: { 'sight ended': 'ended', 'third miss': 'ended', refuse: 'ended', 'refuse for now': 'ended' },
    ended: {},
  };
})();

function expectedState(launch: Launch, { name, event }: NamedEvent): LaunchState {
  const { state, acceptedAt, submittedAt, missing } = launch;
  if (event.type === 'miss') {
    const isTooEarly = event.listedAt < (acceptedAt ?? (submittedAt ?? 0) + unclearMs);
    if (isTooEarly) return state;
    const isThird = missing + 1 >= maxMissing;
    return transitions[state].miss ?? (isThird ? (transitions[state]['third miss'] ?? state) : state);
  }
  return transitions[state][name] ?? state;
}

// Checks the invariants of a launch after an event.
function expectConsistent(before: Launch, after: Launch, now: number): void {
  const { state, outcome, endedAt, startedAt, joinedAt, submittedAt, engineId, missing, reason } = after;
  expect(outcome !== null).toBe(state === 'ended');
  expect(endedAt !== null).toBe(state === 'ended');
  if (state === 'joined') expect([startedAt, joinedAt]).not.toContain(null);
  if (state !== 'wanted' && state !== 'ended') expect(submittedAt).not.toBeNull();
  if (state === 'ending') expect(after.endReason).not.toBeNull();
  if (state !== 'waiting' && state !== 'ending') expect(reason).toBeNull();
  expect(missing).toBeLessThanOrEqual(maxMissing);
  // Times of past steps, the id from the engine, and the end of a launch are never removed.
  for (const key of ['acceptedAt', 'startedAt', 'joinedAt', 'endAskedAt'] as const)
    if (before[key] !== null) expect(after[key]).not.toBeNull();
  if (before.engineId !== null) expect(engineId).not.toBeNull();
  if (before.state === 'ended') expect(after).toBe(before);
  if (before.state === 'ending') expect(['ending', 'ended']).toContain(state);
  if (endedAt !== null && before.endedAt === null) expect(endedAt).toBe(now);
}

test('moves a launch through the state table in every sequence of events', () => {
  const covered = new Set<string>();
  const steps = fc.array(
    fc.record({ eventIndex: fc.nat({ max: 999 }), waitMs: fc.constantFrom(1, 5_000, 31_000) }),
    { maxLength: 30, size: 'max' },
  );
  const applyAndCheck = (launch: Launch, step: NamedEvent, now: number): Launch => {
    const before = freezeDeep(launch);
    const after = advanceLaunch(before, freezeDeep(step.event), now);
    covered.add(`${before.state} ${step.name}`);
    expect(after.state, `${before.state} x ${step.name}`).toBe(expectedState(before, step));
    expectConsistent(before, after, now);
    return after;
  };
  // Applies every event in every state, because random sequences rarely reach some of these pairs.
  const launches = new Map<LaunchState, Launch>([['wanted', makeLaunch()]]);
  for (const launch of launches.values())
    for (const event of eventsAt(NOW)) {
      const after = applyAndCheck(launch, event, NOW);
      if (!launches.has(after.state)) launches.set(after.state, after);
    }
  fc.assert(
    fc.property(steps, script => {
      let launch = makeLaunch();
      let now = NOW;
      for (const { eventIndex, waitMs } of script) {
        now += waitMs;
        const events = eventsAt(now);
        launch = applyAndCheck(
          launch,
          events[eventIndex % events.length] ?? named('join', { type: 'join' }),
          now,
        );
        if (launch.state === 'ended') launch = makeLaunch({ orderedAt: now });
      }
    }),
    { numRuns: 1_500 },
  );
  const names = new Set(eventsAt(NOW).map(({ name }) => name));
  const allPairs = LaunchState.options.flatMap(state => [...names].map(name => `${state} ${name}`));
  expect(allPairs.filter(pair => !covered.has(pair))).toEqual([]);
});

// Applies the events one second apart, starting at NOW + 1 s.
const applyEvents = (launch: Launch, ...events: readonly LaunchEvent[]): Launch =>
  events.reduce((current, event, index) => advanceLaunch(current, event, NOW + (index + 1) * 1_000), launch);

describe('a submission without an answer', () => {
  const unclear = applyEvents(
    makeLaunch(),
    { type: 'submit' },
    { type: 'unanswered', message: 'The engine did not answer' },
  );
  // The submission failed at NOW + 2 s. Lists count from this time on.
  const countsFrom = NOW + 2_000 + unclearMs;

  test('does not repeat an unanswered submission before a list that was requested 30 s after the failure', () => {
    expect(unclear).toMatchObject({ state: 'unclear', detail: 'The engine did not answer' });
    expect(advanceLaunch(unclear, { type: 'miss', listedAt: countsFrom - 1 }, countsFrom)).toBe(unclear);
    const wanted = advanceLaunch(unclear, { type: 'miss', listedAt: countsFrom }, countsFrom);
    expect(wanted).toMatchObject({ state: 'wanted', submittedAt: null, engineId: null });
  });

  test('adopts an unanswered submission that a list contains, in every state', () => {
    const wanted = advanceLaunch(unclear, { type: 'miss', listedAt: countsFrom }, countsFrom);
    for (const launch of [unclear, wanted]) {
      const adopted = advanceLaunch(launch, sight({}), countsFrom);
      expect(adopted).toMatchObject({ state: 'waiting', engineId: '7', acceptedAt: countsFrom });
      // Lists without the launch count again from now on.
      const missing = applyEvents(
        adopted,
        ...[1, 2, 3].map((n): LaunchEvent => ({ type: 'miss', listedAt: countsFrom + n * 60_000 })),
      );
      expect(missing).toMatchObject({ state: 'ended', outcome: 'unknown' });
      expect(adopted.submittedAt).not.toBeNull();
    }
  });
});

describe('a list of the engine', () => {
  const accepted = applyEvents(makeLaunch(), { type: 'submit' }, { type: 'accept', engineId: '7' });

  test('does not change the launch when the list of the engine has no changes', () => {
    for (const changes of [
      {},
      { state: 'running', startedAt: NOW, endsAt: NOW + 9, nodes: ['n1'] },
    ] as const) {
      const once = advanceLaunch(accepted, sight(changes), NOW);
      expect(advanceLaunch(once, sight({ ...changes }), NOW + 5_000)).toBe(once);
      const joined = applyEvents(once, { type: 'join' });
      expect(advanceLaunch(joined, sight({ ...changes }), NOW + 5_000)).toEqual(joined);
    }
    const waiting = { reason: { kind: 'quota', text: 'QOS' }, expectedStart: 5 } as const;
    const once = advanceLaunch(accepted, sight(waiting), NOW);
    expect(advanceLaunch(once, sight({ ...waiting, reason: { ...waiting.reason } }), NOW)).toBe(once);
  });

  test('resets the count of lists without the launch when a list contains the launch', () => {
    const listedAt = NOW + 2_000;
    const twice = applyEvents(accepted, { type: 'miss', listedAt }, { type: 'miss', listedAt });
    expect(twice).toMatchObject({ state: 'waiting', missing: 2 });
    expect(advanceLaunch(twice, sight({}), NOW)).toMatchObject({ missing: 0 });
  });

  test('ignores a list that lacks the launch and was requested before the engine accepted the launch', () => {
    expect(advanceLaunch(accepted, { type: 'miss', listedAt: NOW + 1_999 }, NOW + 9_000)).toBe(accepted);
    expect(advanceLaunch(accepted, { type: 'miss', listedAt: NOW + 2_000 }, NOW + 9_000).missing).toBe(1);
  });

  test('keeps values of an earlier list that the new list lacks', () => {
    const running = applyEvents(
      accepted,
      sight({ state: 'running', startedAt: 5, endsAt: 9, nodes: ['n1'] }),
    );
    expect(applyEvents(running, sight({ state: 'running' }))).toMatchObject({
      startedAt: 5,
      endsAt: 9,
      machines: ['n1'],
    });
  });

  test('uses the current time as the start time when the engine reports no start time', () => {
    expect(advanceLaunch(accepted, sight({ state: 'running' }), NOW)).toMatchObject({ startedAt: NOW });
  });
});

describe('the outcome', () => {
  const accepted = applyEvents(makeLaunch(), { type: 'submit' }, { type: 'accept', engineId: '7' });
  const joined = applyEvents(accepted, { type: 'join' });
  const ended = (exit: Sighting['exit']) => sight({ state: 'ended', exit });

  test.each([
    ['completed', 'never_joined', 'finished'],
    ['failed', 'failed', 'failed'],
    ['node_failed', 'failed', 'failed'],
    ['cancelled', 'cancelled', 'cancelled'],
    ['preempted', 'preempted', 'preempted'],
    ['timeout', 'timeout', 'timeout'],
    [null, 'unknown', 'unknown'],
  ] as const)(
    'derives the outcome from the exit %s when the end was not requested',
    (exit, before, after) => {
      expect(applyEvents(accepted, ended(exit)).outcome).toBe(before);
      expect(applyEvents(joined, ended(exit)).outcome).toBe(after);
    },
  );

  test.each([
    ['not_needed', 'not_needed'],
    ['idle', 'finished'],
    ['left', 'finished'],
    ['test_over', 'finished'],
    ['cancelled', 'cancelled'],
    ['never_joined', 'never_joined'],
  ] as const)('derives the outcome from the reason %s when the end was requested', (why, outcome) => {
    const ending = applyEvents(joined, { type: 'end', why, detail: null });
    expect(applyEvents(ending, ended('cancelled')).outcome).toBe(outcome);
    expect(applyEvents(ending, { type: 'refuse', scope: 'temporary', message: 'x' }).outcome).toBe(outcome);
    const misses = [1, 2, 3].map((): LaunchEvent => ({ type: 'miss', listedAt: NOW * 2 }));
    expect(applyEvents(ending, ...misses).outcome).toBe(outcome);
    // The engine had ended the machine before the request.
    expect(applyEvents(ending, ended('preempted')).outcome).toBe('preempted');
    expect(applyEvents(ending, ended('timeout')).outcome).toBe('timeout');
    expect(applyEvents(makeLaunch(), { type: 'end', why, detail: null })).toMatchObject({
      state: 'ended',
      outcome,
    });
  });

  test('names the engine id and the exit in the detail of a failed launch', () => {
    expect(applyEvents(accepted, ended('node_failed')).detail).toBe('The engine reports 7 as node failed');
    expect(applyEvents(accepted, ended('completed')).detail).toBeNull();
  });

  test('sets the outcome unknown for an ending launch that an older version stored without a reason', () => {
    const ending = makeLaunch({ state: 'ending' });
    expect(applyEvents(ending, ended(null)).outcome).toBe('unknown');
    expect(applyEvents(ending, { type: 'refuse', scope: 'permanent', message: 'x' }).outcome).toBe('unknown');
    const misses = [1, 2, 3].map((): LaunchEvent => ({ type: 'miss', listedAt: NOW * 2 }));
    expect(applyEvents(ending, ...misses).outcome).toBe('unknown');
  });
});

test('keeps the time of the first answer and of the first request to end the launch', () => {
  const ending = applyEvents(
    makeLaunch(),
    { type: 'submit' },
    { type: 'end', why: 'cancelled', detail: 'ada ended it' },
    { type: 'accept', engineId: '7' },
    { type: 'end_asked' },
  );
  expect(ending).toMatchObject({
    state: 'ending',
    engineId: '7',
    acceptedAt: NOW + 3_000,
    endAskedAt: NOW + 4_000,
  });
  expect(advanceLaunch(ending, { type: 'end_asked' }, NOW * 2)).toEqual(ending);
  expect(advanceLaunch(ending, { type: 'accept', engineId: '7' }, NOW * 2)).toMatchObject({
    acceptedAt: NOW + 3_000,
  });
  const joined = advanceLaunch(ending, { type: 'join' }, NOW * 2);
  expect(joined).toMatchObject({ state: 'ending', startedAt: NOW * 2, joinedAt: NOW * 2 });
  expect(advanceLaunch(joined, { type: 'join' }, NOW * 3)).toEqual(joined);
});
