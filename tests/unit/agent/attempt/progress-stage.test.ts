import { describe, expect, it } from 'vitest';
import { createProgressReader } from '../../../../agent/metrics/progress.ts';
import { createStageReader, shownLine } from '../../../../agent/attempt/sent-progress.ts';

function read(output: string) {
  const reader = createProgressReader();
  const stageReader = createStageReader();
  for (const item of [...reader.push(output), ...reader.end()]) stageReader.note(item);
  return stageReader.current();
}

describe('stage of a run', () => {
  it.each<[string, string | null]>([
    ['hello\n', null],
    ['2026-11-23 INFO Loading checkpoint shards\n', 'Preprocessing'],
    ['Preprocessing VAE cache\n', 'Preprocessing'],
    ['Warming up the learning rate\n', 'Warmup'],
    ['lr_warmup_steps: 100, gradient checkpointing: on\n', null],
    ['Validating with 4 prompts\n', 'Validation'],
    ['Saved state to output/checkpoint-500\n', 'Saving checkpoint'],
    ['Step 1500/5000 - loss: 0.0234\n', 'Training'],
    ['Saving checkpoint\nStep 1500/5000\n', 'Training'],
    ['Loading\nEpoch 1/10, Steps:  10%|█| 100/1000 [01:00<09:00, 1.0s/it]\r', 'Training'],
    ['{"type":"progress","stage":"Sampling","percent":5}\n', 'Sampling'],
  ])('reads the stage from the output %j', (output, stage) => {
    expect(read(output).stage).toBe(stage);
  });
});

describe('newest line', () => {
  it('returns the last line that is neither blank nor a progress bar', () => {
    expect(read('one\ntwo\n\n   \n 50%|█| 1/2 [00:01<00:01, 1.00s/it]\r').line).toBe('two');
    expect(read('').line).toBeNull();
  });

  it.each([
    ['\u001b[31mred\u001b[0m\ttext\u202e', [], 'red text'],
    ['token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH ok', [], 'token [redacted] ok'],
    ['the word is opensesame-42', ['opensesame-42'], 'the word is [redacted]'],
    ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2), [], '[redacted]'],
    ['x '.repeat(100), [], 'x '.repeat(40)],
    ['größe 日本 ✓', [], 'größe 日本 ✓'],
  ] as const)('sends the newest line as plain text without secrets: %j', (line, knownSecrets, expected) => {
    expect(shownLine(line, knownSecrets)).toBe(expected);
  });
});
