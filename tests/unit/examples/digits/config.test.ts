import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseTrainingConfig, readTrainingConfig } from '../../../../examples/digits/config.ts';
import { makeFolder, reasonOf, valueOf } from './builders.ts';

const smallest = { epochs: 2, batch_size: 64, learning_rate: 0.1, hidden: 32 };

test('uses default values for optional keys, and a constant learning rate', () => {
  expect(valueOf(parseTrainingConfig(smallest))).toEqual({
    epochs: 2,
    batchSize: 64,
    learningRate: 0.1,
    finalLearningRate: 0.1,
    momentum: 0.9,
    hidden: 32,
    seed: 1,
    checkpointEvery: 500,
    keepCheckpoints: 3,
    samples: false,
  });
});

test('reads every key from the config', () => {
  const optional = {
    final_learning_rate: 0.01,
    momentum: 0,
    seed: 0,
    checkpoint_every: 9,
    keep_checkpoints: 1,
    samples: true,
  };
  expect(valueOf(parseTrainingConfig({ ...smallest, ...optional }))).toEqual({
    epochs: 2,
    batchSize: 64,
    learningRate: 0.1,
    finalLearningRate: 0.01,
    momentum: 0,
    hidden: 32,
    seed: 0,
    checkpointEvery: 9,
    keepCheckpoints: 1,
    samples: true,
  });
});

test("accepts the orchestrator's own keys and keys starting with $", () => {
  const foreign = { trainer: 'digits', num_processes: 1, description: 'x', $schema: 'y' };
  expect(parseTrainingConfig({ ...smallest, ...foreign })).toEqual(parseTrainingConfig(smallest));
});

test.for<[string, Record<string, unknown>, string]>([
  [
    'a missing key',
    { epochs: undefined },
    '"epochs" must be a whole number from 1 to 1000, but it is missing',
  ],
  ['a word in place of a boolean', { samples: 'yes' }, '"samples" must be true or false, but it is "yes"'],
  [
    'a string in place of a number',
    { hidden: '64' },
    '"hidden" must be a whole number from 1 to 512, but it is "64"',
  ],
  ['null', { learning_rate: null }, '"learning_rate" must be a number from 0.000001 to 1000, but it is null'],
  ['a fraction', { batch_size: 1.5 }, '"batch_size" must be a whole number from 1 to 1024, but it is 1.5'],
  ['too large a layer', { hidden: 513 }, '"hidden" must be a whole number from 1 to 512, but it is 513'],
  ['a number below the minimum', { learning_rate: 0 }, '"learning_rate" must be'],
  [
    'a number at the excluded maximum',
    { momentum: 1 },
    '"momentum" must be a number from 0 to 0.999, but it is 1',
  ],
  ['a negative seed', { seed: -1 }, '"seed" must be a whole number from 0 to 4294967295, but it is -1'],
  ['an optional key with an invalid value', { final_learning_rate: [0.1] }, '"final_learning_rate" must be'],
  ['a checkpoint interval of 0', { checkpoint_every: 0 }, '"checkpoint_every" must be'],
  ['a checkpoint count of 0', { keep_checkpoints: 0 }, '"keep_checkpoints" must be'],
  [
    'an unknown key',
    { learn_rate: 0.1 },
    '"learn_rate" is not a key of this trainer; its keys are epochs, batch_size',
  ],
])('rejects a config with %s', ([, changes, reason]) => {
  expect(reasonOf(parseTrainingConfig({ ...smallest, ...changes }))).toContain(reason);
});

test.for([null, [], 'text', 7])('rejects %j as a config', value => {
  expect(reasonOf(parseTrainingConfig(value))).toContain('expected an object');
});

test('returns the reason when a config is missing, a folder, not JSON or incomplete', async () => {
  const folder = await makeFolder();
  const path = join(folder, 'config.json');
  expect(reasonOf(await readTrainingConfig(path))).toMatch(/cannot read the config: ENOENT.*config\.json/);
  expect(reasonOf(await readTrainingConfig(folder))).toContain('cannot read the config: EISDIR');
  await writeFile(path, '{"epochs": 2,');
  expect(reasonOf(await readTrainingConfig(path))).toContain(`config ${path} is not valid JSON`);
  await writeFile(path, '{"epochs": 2}');
  expect(reasonOf(await readTrainingConfig(path))).toContain(`config ${path}: "learning_rate" must be`);
});

test('accepts the configs shipped with the trainer', async () => {
  const folder = new URL('../../../../examples/digits/configs/', import.meta.url).pathname;
  const names = await readdir(folder);
  expect(names.toSorted()).toEqual(['digits-broken.json', 'digits-long.json', 'digits-quick.json']);
  for (const name of names) valueOf(await readTrainingConfig(join(folder, name)));
});
