import { describe, expect, it } from 'vitest';
import { introductionOf } from '../../../../agent/session/register.ts';
import { parseTrainers } from '../../../../agent/trainers/index.ts';

const settings = { name: 'rig-1', persistent: true, labels: {}, allowedConfigKeys: [] } as const;
const report = { count: 0, gpus: [], accelerator: null } as unknown as Parameters<typeof introductionOf>[2];

function outputsOf(trainers: readonly string[], upload: 'all' | 'checkpoints' | 'none' = 'all') {
  const choices = parseTrainers(trainers, null);
  if (!choices.ok) throw new Error('the trainers cannot be parsed');
  const probed = choices.value.map(choice => ({ choice, version: null, problem: null }));
  return introductionOf({ ...settings, upload }, '1.0', report, probed).outputs;
}

describe('outputs in the introduction of a worker', () => {
  it.each([
    ['train --config {config_path}', false],
    ['train --config {config_path} --out={output_dir}', true],
    ['command=train {output_dir}', true],
    ['simpletuner', null],
  ])('reports for --trainer %j whether its command uses {output_dir}: %j', (trainer, hasOutputDir) => {
    expect(outputsOf([trainer])).toEqual({ upload: 'all', command_has_output_dir: hasOutputDir });
  });

  it('reports the upload setting, and checks the command among several trainers for {output_dir}', () => {
    expect(outputsOf(['simpletuner', 'train {config_path}'], 'none')).toEqual({
      upload: 'none',
      command_has_output_dir: false,
    });
  });
});
