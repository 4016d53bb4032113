import { describe, expect, test } from 'vitest';
import type { Screen } from '../../../../main/cli/invocation.ts';
import { createJobDisplay, createProgressFilter } from '../../../../main/cli/jobs/watch.ts';
import { createProgressDisplay } from '../../../../main/cli/progress-bar.ts';
import type { JobEventType } from '../../../../protocol/events.ts';
import { jobView } from '../../../support/job-view.ts';

describe('progress line', () => {
  const showProgress = (columns: number | null, percents: readonly number[]): string => {
    let text = '';
    const screen = () => (columns === null ? null : { columns, rows: 24 });
    const display = createProgressDisplay(output => void (text += output), screen);
    for (const percent of percents) display.show({ percent, step: percent, total_steps: 100 });
    display.finish();
    return text;
  };

  test('prints no progress without a terminal', () => {
    expect(showProgress(null, [0, 10, 55.5, 100])).toBe('');
  });

  test('prints progress on one line that is never wider than the screen', () => {
    const text = showProgress(20, [10, 20]);
    expect(text.split('\n')).toHaveLength(2);
    for (const line of text.trimEnd().split('\r\u001b[2K')) expect(line.length).toBeLessThan(20);
  });
});

test('logs progress at every 10 percent of each attempt, and all other events', () => {
  const isLogged = createProgressFilter();
  const event = (type: JobEventType, percent: number, attempt = 1) => {
    const job = jobView({ status: 'running', progress: { percent } });
    const common = { seq: 1, at: job.queued_at, worker_id: null, cause: null };
    return isLogged({ ...common, kind: 'job', type, job_id: job.id, attempt, job });
  };
  expect([0, 5, 9.9, 10, 19, 35, 30].map(percent => event('job.progress', percent))).toEqual([
    true,
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
  expect([event('job.recovering', 35), event('job.running', 35)]).toEqual([true, true]);
  expect([event('job.progress', 36), event('job.progress', 4, 2)]).toEqual([false, true]);
});

describe('following a job', () => {
  const showJob = (
    screen: Screen | null,
    ...jobs: readonly Parameters<typeof jobView>[0][]
  ): readonly string[] => {
    let text = '';
    const show = createJobDisplay({
      out: () => undefined,
      err: output => void (text += output),
      outScreen: () => null,
      errScreen: () => screen,
      ask: null,
      stdin: null,
    });
    for (const job of jobs) show(jobView(job));
    return text
      .replaceAll('\r\u001b[2K', '\n')
      .split('\n')
      .map(line => line.replace(/^[█░]+/, '[]'))
      .filter(line => line !== '');
  };

  test('prints each status once with its reason, and no progress bar, when the output is a pipe', () => {
    expect(
      showJob(
        null,
        { status: 'pending', attempt: 0, reason: 'No idle workers' },
        { status: 'pending', attempt: 0, reason: 'No idle workers' },
        { status: 'running', attempt: 1, worker_name: 'rig-1' },
        { status: 'running', attempt: 1, worker_name: 'rig-1', progress: { percent: 50 } },
        { status: 'completed', attempt: 1, worker_name: 'rig-1', progress: { percent: 100 } },
      ),
    ).toEqual(['Pending: No idle workers', 'Running on rig-1', 'Completed on rig-1']);
  });

  test('starts a new progress bar with each attempt on a terminal', () => {
    expect(
      showJob(
        { columns: 80, rows: 24 },
        { status: 'running', attempt: 1, worker_name: 'rig-1', progress: { percent: 80 } },
        { status: 'pending', attempt: 1, reason: 'waits 30 s' },
        { status: 'running', attempt: 2, worker_name: 'rig-2', progress: { percent: 10 } },
      ),
    ).toEqual([
      'Running on rig-1',
      '[]  80 %',
      'Pending: waits 30 s',
      'Running on rig-2, attempt 2 of 4',
      '[]  10 %',
    ]);
  });
});
