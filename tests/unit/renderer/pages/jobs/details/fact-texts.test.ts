/** Tests the texts for the assigned GPUs of a job and for its attempts. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Translator } from '../../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../../support/texts.ts';
import { assignedGpusText, attemptText } from '../../../../../../renderer/pages/jobs/details/fact-texts.ts';
import { jobView } from '../../../../../support/job-view.ts';

let t: Translator;
beforeAll(async () => {
  t = await loadTexts('en', 'utc');
});

describe('assignedGpusText', () => {
  it('writes "GPU 0", because "0" alone would mean a job without GPUs', () => {
    expect(assignedGpusText(jobView({ allocated_gpus: [0] }), t)).toBe('GPU 0');
  });

  it('lists the numbers of several GPUs', () => {
    expect(assignedGpusText(jobView({ allocated_gpus: [1, 3] }), t)).toBe('GPUs 1, 3');
  });

  it('returns null for a job without assigned GPUs', () => {
    expect(assignedGpusText(jobView({ allocated_gpus: [] }), t)).toBeNull();
    expect(assignedGpusText(jobView({ allocated_gpus: null }), t)).toBeNull();
  });
});

describe('attemptText', () => {
  it('returns the state of the job for an active attempt', () => {
    for (const status of ['starting', 'running', 'recovering', 'cancelling'] as const)
      expect(attemptText(null, jobView({ status }), t)).toBe(status);
  });

  it('returns the outcome of an ended attempt, independent of the current job status', () => {
    expect(attemptText('given_up', jobView({ status: 'running' }), t)).toBe('lost');
  });

  it('returns an unknown outcome of a newer server unchanged', () => {
    expect(attemptText('paused', jobView({ status: 'running' }), t)).toBe('paused');
  });
});
