/** Tests that a job can continue from a checkpoint of another job, with each trainer. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeResumeInput } from '../../../../agent/attempt/resume-input.ts';
import { prepareJob } from '../../../../agent/attempt/trainer.ts';
import type { JobOffer } from '../../../../agent/job.ts';
import { parseConfigText, type TrainerName } from '../../../../trainers/index.ts';
import { aiToolkit, diffusers, kohya, onetrainer, simpletuner } from '../../trainers/configs.ts';
import { offerOf, rigOf, tempFolder, writeFile } from '../builders.ts';

const file = { bytes: 1, sha256: 'a'.repeat(64) };
const inputOf = (path: string): NonNullable<JobOffer['inputs']> => [
  { name: 'base', path, files: [{ path, ...file }] },
];

function prepareFor(name: TrainerName, path: string, config: object, more: Partial<JobOffer> = {}) {
  const folder = tempFolder();
  mkdirSync(join(folder, 'venv/bin'), { recursive: true });
  const python = writeFile(join(folder, 'venv/bin'), 'python', '#!/bin/sh\n', 0o755);
  const choice =
    name === 'command'
      ? ({ kind: 'command', argv: ['train', '{resume_from}'], takesAll: true } as const)
      : name === 'simpletuner'
        ? ({ kind: 'package', name, python } as const)
        : ({ kind: 'checkout', name, folder, python: null } as const);
  const rig = rigOf(tempFolder(), { trainers: [choice] });
  const offer = offerOf('j1', 'a1', { config: { ...config }, inputs: inputOf(path), ...more });
  const preparation = prepareJob(offer, rig);
  if (!preparation.ok) throw new Error(preparation.message);
  const { job } = preparation;
  const configPath = job.env['CONFIG_PATH'] ?? '';
  const parsed = parseConfigText(
    readFileSync(configPath, 'utf8'),
    configPath.endsWith('.toml') ? 'toml' : 'json',
  );
  return { job, config: parsed.ok ? parsed.value : {} };
}

const $resume = '{{inputs.base}}';
const nameIn = (config: { readonly config?: unknown }): string =>
  (config.config as { readonly name: string }).name;

describe('a job that continues from a checkpoint of another job', () => {
  it.each<[TrainerName, object, string, string, object]>([
    ['simpletuner', simpletuner, 'checkpoint-500', 'checkpoint-500', { resume_from_checkpoint: 'PLACE' }],
    ['kohya', kohya, 'x-step00000100-state', 'x-step00000100-state', { resume: 'PLACE' }],
    ['onetrainer', onetrainer, 'x-backup-5-0-5', 'backup/x-backup-5-0-5', { continue_last_backup: true }],
    [
      'ai-toolkit',
      aiToolkit,
      'other_000000250.safetensors',
      `${nameIn(aiToolkit)}/${nameIn(aiToolkit)}_000000250.safetensors`,
      {},
    ],
    ['diffusers', diffusers, 'checkpoint-500', 'checkpoint-500', { resume_from_checkpoint: 'latest' }],
  ])('places the input checkpoint where %s looks for it', (name, config, path, place, written) => {
    const prepared = prepareFor(name, path, { ...config, $resume });
    const { outputDir, folder } = prepared.job;
    expect(prepared.job.resumeInput).toEqual({ from: join(folder, 'inputs/base', path), to: place });
    expect(prepared.job.env['TRAINYARD_RESUME_FROM']).toBe(join(outputDir, place));
    const expected = JSON.parse(JSON.stringify(written).replace('PLACE', join(outputDir, place)));
    expect(prepared.config).toMatchObject(expected);
    expect(prepared.config).not.toHaveProperty('$resume');
  });

  it("passes the input checkpoint to the owner's command, and accepts an input in SimpleTuner's own key", () => {
    const { job } = prepareFor('command', 'epoch-3.pt', { $resume });
    expect(job.argv).toEqual(['train', join(job.outputDir, 'epoch-3.pt')]);
    const own = { ...simpletuner, resume_from_checkpoint: '{{inputs.base}}/checkpoint-7' };
    const prepared = prepareFor('simpletuner', 'run', own);
    expect(prepared.job.resumeInput?.to).toBe('checkpoint-7');
    expect(prepared.config).toMatchObject({
      resume_from_checkpoint: join(prepared.job.outputDir, 'checkpoint-7'),
    });
  });

  it('ignores the input checkpoint when the job already has its own checkpoint', () => {
    const resume = { checkpoint: 'checkpoint-900', step: 900 };
    const { job, config } = prepareFor(
      'simpletuner',
      'checkpoint-500',
      { ...simpletuner, $resume },
      { resume },
    );
    expect(job.resumeInput).toBeUndefined();
    expect(config).toMatchObject({ resume_from_checkpoint: join(job.outputDir, 'checkpoint-900') });
  });

  it('ignores $resume when it leads outside the folder of the inputs', () => {
    const { job } = prepareFor('command', 'epoch-3.pt', { $resume: '{{inputs.base}}/../../../../etc' });
    expect(job.resumeInput).toBeUndefined();
    expect(job.argv).toEqual(['train', '']);
  });
});

describe('placeResumeInput', () => {
  it('links a whole folder, and replaces an earlier copy', async () => {
    const [from, output] = [tempFolder(), tempFolder()];
    mkdirSync(join(from, 'unet'));
    writeFile(from, 'state.json', '1');
    writeFile(join(from, 'unet'), 'weights.bin', 'abc');
    for (const _ of [1, 2]) await placeResumeInput({ from, to: 'backup/x' }, output);
    expect(readFileSync(join(output, 'backup/x/unet/weights.bin'), 'utf8')).toBe('abc');
    expect(readFileSync(join(output, 'backup/x/state.json'), 'utf8')).toBe('1');
  });

  it('rejects an input that contains a symbolic link', async () => {
    const from = tempFolder();
    symlinkSync('/etc', join(from, 'etc'));
    await expect(placeResumeInput({ from, to: 'x' }, tempFolder())).rejects.toThrow(/neither a file nor/);
  });
});
