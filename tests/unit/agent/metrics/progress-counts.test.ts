import { describe, expect, it } from 'vitest';
import { createProgressReader, type Progress } from '../../../../agent/metrics/progress.ts';
import { useFakeTimers, advanceTime, startAgentWithJob } from '../agent-fixture.ts';

/** Returns the progress that each line reports, without undefined fields. */
const read = (output: string): readonly object[] =>
  createProgressReader()
    .push(output)
    .flatMap(item => (item.kind === 'progress' ? [definedFields(item.progress)] : []));

const definedFields = (progress: Progress): object =>
  Object.fromEntries(Object.entries(progress).filter(([, value]) => value !== undefined));

describe('lines that count steps or epochs', () => {
  it.each<[string, object]>([
    ['step 1500/5000', { step: 1500, totalSteps: 5000, percent: 30 }],
    ['Step 1500/5000 - loss: 0.0234', { step: 1500, totalSteps: 5000, percent: 30, loss: 0.0234 }],
    ['INFO Step: [5/20], lr=1e-4', { step: 5, totalSteps: 20, percent: 25, learningRate: 1e-4 }],
    ['epoch 3/10', { epoch: 3, percent: 30 }],
    [
      'Epoch [2/5], Step [100/600], Loss: 0.3',
      { epoch: 2, step: 700, totalSteps: 3000, percent: 23.33, loss: 0.3 },
    ],
  ])('reads progress from the line %s', (line, expected) => {
    expect(read(`${line}\n`)).toEqual([{ ...expected, metrics: {} }]);
  });

  it.each([
    'step 7/0',
    'step 9/5',
    'misstep 1/5',
    'steps 5',
    'epoch 3',
    'see /data/step/5',
    `${'x'.repeat(5000)} step 1/2`,
  ])('reads no progress from the line %s', line => {
    expect(read(`${line}\n`)).toEqual([]);
  });

  it('returns a line that counts steps also as a line for the log', () => {
    const items = createProgressReader().push('step 1/5\n');
    expect(items.map(({ kind }) => kind)).toEqual(['progress', 'line']);
  });

  it('ignores steps in lines after a bar has counted steps', () => {
    const bar = 'steps:  10%|█         | 10/100 [00:01<00:09, 10.00it/s]\r';
    expect(read(`${bar}epoch 3/10\nstep 5/6\n`).slice(-2)).toEqual([
      { epoch: 3, metrics: {} },
      { metrics: {} },
    ]);
  });
});

describe('stage and newest line', () => {
  useFakeTimers();

  it('reports stage and newest line with the progress, and redacts secrets in the line', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    run.listeners.onProgress({ step: 1, total_steps: 4 });
    run.listeners.onStage?.({
      stage: 'Training',
      line: 'Step 1/4 with hf_abcdefghijklmnopqrstuvwxyzABCDEFGH',
    });
    await advanceTime(1_000);
    run.end(0);
    expect((await orchestrator.reported('completed')).body).toMatchObject({
      progress: { step: 1, total_steps: 4, stage: 'Training', last_log: 'Step 1/4 with [redacted]' },
    });
  });
});
