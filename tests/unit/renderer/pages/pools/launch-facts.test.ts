import { describe, expect, it } from 'vitest';
import { LaunchId } from '../../../../../protocol/ids.ts';
import type { LaunchView } from '../../../../../protocol/pool.ts';
import {
  failureOfTest,
  iconOf,
  inOrder,
  phasesOf,
  weightOf,
} from '../../../../../renderer/pages/pools/launch-facts.ts';
import { at, launchView } from '../../pool-builders.ts';

/** Returns the seconds and the state of each phase: ordering, queue, joining and work. */
const phases = (overrides: Partial<LaunchView>, nowS: number) =>
  phasesOf(launchView(overrides), Date.parse(at(nowS))).map(({ seconds, state }) => [seconds, state]);

describe('phasesOf', () => {
  it('measures the current phase up to now', () => {
    expect(phases({}, 10)).toEqual([
      [4, 'done'],
      [6, 'now'],
      [null, 'ahead'],
      [null, 'ahead'],
    ]);
  });

  it('measures each phase of a successful launch', () => {
    const times = { started_at: at(64), joined_at: at(70), ended_at: at(100) };
    expect(phases({ ...times, state: 'ended', outcome: 'finished' }, 500)).toEqual([
      [4, 'done'],
      [60, 'done'],
      [6, 'done'],
      [30, 'done'],
    ]);
  });

  it('marks the phase in which a launch failed', () => {
    const ended = { state: 'ended', outcome: 'never_joined', started_at: at(5), ended_at: at(605) } as const;
    expect(phases(ended, 900)).toEqual([
      [4, 'done'],
      [1, 'done'],
      [600, 'failed'],
      [null, 'ahead'],
    ]);
    expect(phases({ state: 'ended', outcome: 'cancelled', ended_at: at(9) }, 900)[1]).toEqual([5, 'done']);
  });

  it('returns 0 s instead of a negative time when the clock of the engine is behind', () => {
    expect(phases({ started_at: at(2) }, 10)[1]).toEqual([0, 'done']);
  });

  it('skips the queue phase when the engine did not confirm the order', () => {
    expect(phases({ submitted_at: null, started_at: at(8) }, 10)).toEqual([
      [8, 'done'],
      [null, 'done'],
      [2, 'now'],
      [null, 'ahead'],
    ]);
  });
});

describe('weightOf', () => {
  it('gives short phases a visible width next to long phases, and future phases the smallest width', () => {
    // A weight is the square root of the seconds, but at least 1. The phases last 4 s, 3,600 s and 1 s.
    const [first, second, third] = phasesOf(launchView({ started_at: at(3_604) }), Date.parse(at(3_605)));
    expect([first, second, third].map(phase => phase && weightOf(phase))).toEqual([2, 60, 1]);
  });
});

describe('inOrder', () => {
  it('lists open launches before ended launches, and newer launches first', () => {
    const launch = (id: string, seconds: number, state: LaunchView['state']) =>
      launchView({ launch_id: LaunchId.parse(id), ordered_at: at(seconds), state });
    const launches = [launch('a', 1, 'joined'), launch('b', 3, 'ended'), launch('c', 2, 'waiting')];
    expect(inOrder(launches).map(({ launch_id: id }) => id)).toEqual(['c', 'a', 'b']);
  });
});

describe('iconOf', () => {
  it('returns the failure icon only for outcomes that are failures', () => {
    const iconOfOutcome = (outcome: LaunchView['outcome']) => iconOf({ state: 'ended', outcome });
    expect(iconOfOutcome('finished')).toBe('completed');
    expect(iconOfOutcome('not_needed')).toBe('cancelled');
    expect(iconOfOutcome('preempted')).toBe('failed');
    expect(iconOf({ state: 'waiting', outcome: null })).toBe('pending');
  });
});

describe('failureOfTest', () => {
  it('returns null when a worker joined, and the reason of the failure when the launch ended without a worker', () => {
    const ended = { state: 'ended', outcome: 'finished' } as const;
    expect(failureOfTest(launchView(ended))).toBe('never_joined');
    expect(failureOfTest(launchView({ ...ended, joined_at: at(9) }))).toBeNull();
    expect(failureOfTest(launchView({ state: 'ended', outcome: 'rejected' }))).toBe('rejected');
    expect(failureOfTest(launchView())).toBeNull();
  });
});
