/** Tests that failed jobs are grouped by cause, and that parts of an error that vary between jobs are ignored. */
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../../../../../protocol/job.ts';
import {
  createCauseReader,
  groupFailures,
  normaliseError,
} from '../../../../../../renderer/pages/jobs/list/failure-groups.ts';
import { jobView } from '../../../../../support/job-view.ts';

describe('normaliseError', () => {
  it.each([
    [
      'Traceback (most recent call last):\n  File "a.py", line 3\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has 23.65 GiB.',
      'CUDA out of memory',
    ],
    ['RuntimeError: shape [4, 64, 64] is not [4, 128, 128]', 'shape [#] is not [#]'],
    [
      "FileNotFoundError: [Errno 2] No such file: '/home/ada/run-17/model.safetensors'",
      "[Errno #] No such file: '…'",
    ],
    [String.raw`OSError: cannot open C:\runs\17\a.bin for reading`, 'cannot open … for reading'],
    ['ConnectionError: https://hub.example/models?id=3 refused', '… refused'],
    ['RuntimeError: run 3f2a9c1e-11aa-4bcd-8123-aabbccddeeff is gone', 'run … is gone'],
    ['RuntimeError: bad address 0x7ffe01 in worker w_k3Xy', 'bad address … in worker …'],
    ['ValueError: loss is NaN at step 1,204', 'loss is NaN at step #'],
    ['ValueError: took 12.5 s of 30%', 'took # of #'],
    ['KeyError: "rank"', 'KeyError: "rank"'],
    ['KeyboardInterrupt', 'KeyboardInterrupt'],
    ['The trainer ended with exit code 3', 'The trainer ended with exit code #'],
    ['dtype float16 is not supported by layer3.', 'dtype float16 is not supported by layer3'],
    ['', ''],
  ])('reduces %j to %j', (error, text) => {
    expect(normaliseError(error)).toBe(text);
  });

  it('shortens a long error to 80 characters', () => {
    const text = normaliseError(`ValueError: ${'word '.repeat(40)}`);
    expect(text).toHaveLength(80);
    expect(text.endsWith('…')).toBe(true);
  });

  it('reduces lines of a million slashes, digits or letters within two seconds', () => {
    const start = performance.now();
    for (const part of ['/', '1', 'a', '-', ' #', '/a'])
      normaliseError(`ValueError: ${part.repeat(1_000_000)} end`);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

const countsOf = (groups: ReturnType<typeof groupFailures>) =>
  groups.map(({ cause, count }) => ({ cause, count }));

describe('groupFailures', () => {
  const failed = (error: string | null, cause: JobView['cause'] = 'trainer_exit'): JobView =>
    jobView({ status: 'failed', error_message: error, cause });
  const reader = createCauseReader(cause => `cause ${cause}`);

  it('counts jobs with the same cause, largest group first', () => {
    const jobs = [
      failed('KeyError: "rank"'),
      failed('RuntimeError: CUDA out of memory. Tried to allocate 2 GiB', 'out_of_memory'),
      failed('RuntimeError: CUDA out of memory. Tried to allocate 7 GiB', 'out_of_memory'),
      failed('ValueError: a bad rank'),
    ];
    expect(countsOf(groupFailures(jobs, reader))).toEqual([
      { cause: 'CUDA out of memory', count: 2 },
      { cause: 'KeyError: "rank"', count: 1 },
      { cause: 'a bad rank', count: 1 },
    ]);
  });

  it('groups by the cause when an error varies only by worker, or when a job has no error', () => {
    const jobs = [
      failed('rig-1 sent no heartbeat for 120 s', 'worker_lost'),
      failed('rig-2 sent no heartbeat for 140 s', 'worker_lost'),
      failed(null, 'start_failed'),
      failed(null, null),
    ];
    expect(countsOf(groupFailures(jobs, reader))).toEqual([
      { cause: 'cause worker_lost', count: 2 },
      { cause: '', count: 1 },
      { cause: 'cause start_failed', count: 1 },
    ]);
  });

  it('omits jobs that did not fail, and reads the cause of each job only once', () => {
    const causes: string[] = [];
    const counting = createCauseReader(cause => {
      causes.push(cause);
      return cause;
    });
    const jobs = [failed(null, 'timeout'), jobView({ status: 'completed' })];
    for (let pass = 0; pass < 2; pass += 1)
      expect(countsOf(groupFailures(jobs, counting))).toEqual([{ cause: 'timeout', count: 1 }]);
    expect(causes).toEqual(['timeout']);
  });

  it('returns the first two jobs of each cause as examples', () => {
    const jobs = ['j_1', 'j_2', 'j_3'].map(id => jobView({ id, job_id: id, status: 'failed' }));
    const [group] = groupFailures(jobs, () => 'timeout');
    expect(group?.examples.map(({ id }) => id)).toEqual(['j_1', 'j_2']);
  });
});
