import { expect, test } from 'vitest';
import { failureOfTest, phasesOf } from '../../../../../main/cli/pools/test.ts';
import { LaunchOutcome } from '../../../../../protocol/pool.ts';
import { launchView } from '../../../../support/pool-views.ts';

const passedLaunch = launchView({
  state: 'ended',
  outcome: 'finished',
  started_at: '2026-01-02T03:05:00.000Z',
  joined_at: '2026-01-02T03:05:04.500Z',
  ended_at: '2026-01-02T03:05:20.000Z',
});

test('measures each phase of a pool test in seconds', () => {
  expect(phasesOf(passedLaunch)).toEqual({ ordered_s: 0.3, queued_s: 54, started_s: 4.5, joined_s: 15.5 });
  expect(phasesOf(launchView())).toMatchObject({ ordered_s: 0.3, queued_s: null, joined_s: null });
});

test('measures no negative time when the clock of the engine is ahead', () => {
  const launch = { ...passedLaunch, started_at: '2026-01-02T03:06:00.000Z' };
  expect(phasesOf(launch).started_s).toBe(0);
});

test('reports no failure of a pool test when the worker joined with all its GPUs', () => {
  expect(failureOfTest(passedLaunch, 2)).toBeNull();
  expect(failureOfTest(passedLaunch, null)).toBeNull();
});

test('reports a failed pool test when the worker found too few GPUs', () => {
  expect(failureOfTest(passedLaunch, 1)).toMatch(
    /^The worker found 1 of 2 GPUs\. .*"trainyard pools set gpu --gpus 1"$/,
  );
});

test.each(LaunchOutcome.options.filter(outcome => outcome !== 'finished'))(
  'suggests a remedy for a launch that ended as %s',
  outcome => {
    const launch = launchView({ state: 'ended', outcome, detail: 'exit code 3.' });
    expect(failureOfTest(launch, null)).toMatch(/^The test of pool gpu failed: exit code 3\. [A-Z].{15}/);
  },
);

test('reports that the worker did not register when a launch ended before its worker joined', () => {
  expect(failureOfTest({ ...passedLaunch, joined_at: null }, null)).toContain('its worker did not register');
});
