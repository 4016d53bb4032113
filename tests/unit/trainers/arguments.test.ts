import { describe, expect, test } from 'vitest';
import {
  checkConfig,
  completionAt,
  type ConfigFormat,
  likenessOf,
  loadArguments,
  stepsOf,
  trainerFor,
  type TrainerName,
} from '../../../trainers/index.ts';
import { aiToolkit, kohya, kohyaSections, onetrainer, simpletuner } from './configs.ts';

/** Returns the arguments that this trainer accepts. Throws when the trainer has no list of arguments. */
const knownArguments = async (trainer: TrainerName) => {
  const accepted = await loadArguments(trainer);
  if (accepted === null) throw new Error(`there is no list for ${trainer}`);
  return accepted;
};

describe('checkConfig', () => {
  test.each([simpletuner, aiToolkit, kohya, kohyaSections, onetrainer])(
    'reports no problems in a valid config: %j',
    async config => {
      const trainer = trainerFor(config);
      expect(checkConfig(trainer, config, await knownArguments(trainer.name))).toEqual({
        keys: [],
        values: [],
      });
    },
  );

  test('suggests the nearest known key or value for an unknown key or value', async () => {
    const config = {
      ...kohya,
      lerning_rate: 1,
      mixed_precision: 'bf-16',
      network_dim: 'many',
      cache_latents: 'please',
      xformers: 'true',
      seed: '42',
    };
    expect(checkConfig(trainerFor(config), config, await knownArguments('kohya'))).toEqual({
      keys: [{ key: 'lerning_rate', nearest: 'learning_rate' }],
      values: [
        { at: ['network_dim'], problem: 'number', value: 'many', nearest: null },
        { at: ['mixed_precision'], problem: 'choice', value: 'bf-16', nearest: 'bf16' },
        { at: ['cache_latents'], problem: 'boolean', value: 'please', nearest: null },
      ],
    });
  });

  test('checks the values of keys with leading dashes', async () => {
    const config = { '--model_family': 'flux', '--model_type': 'lorra' };
    const { values } = checkConfig(trainerFor(config), config, await knownArguments('simpletuner'));
    expect(values).toMatchObject([{ value: 'lorra', nearest: 'lora' }]);
  });
});

test('loadArguments returns null for a program that Trainyard does not know', async () => {
  expect(await loadArguments('command')).toBeNull();
});

/** Completes at the cursor `|`. Returns the labels of the options, and the text with the first option inserted. */
async function complete(
  textWithCursor: string,
  format: ConfigFormat,
  trainer: TrainerName,
  isRequested = false,
) {
  const caret = textWithCursor.indexOf('|');
  const text = textWithCursor.replace('|', '');
  const completion = completionAt(
    { text, caret, format },
    { trainer, known: await knownArguments(trainer) },
    isRequested,
  );
  const [first] = completion?.options ?? [];
  if (completion === null || first === undefined) return null;
  return {
    labels: completion.options.map(({ label }) => label),
    completed: text.slice(0, completion.from) + first.text + text.slice(completion.to),
  };
}

describe('completionAt', () => {
  test.each([
    ['json', 'simpletuner', '{\n  "learning_ra|\n}', '{\n  "learning_rate": \n}'],
    ['json', 'simpletuner', '{\n  "--learning_ra|": 1\n}', '{\n  "--learning_rate": 1\n}'],
    ['json', 'simpletuner', '{ "model_type": "lo|" }', '{ "model_type": "lora" }'],
    ['json', 'simpletuner', '{ "optimizer": | }', '{ "optimizer": "adamw_bf16" }'],
    ['json', 'onetrainer', '{ "train_dtype": "BF|OAT" }', '{ "train_dtype": "BFLOAT_16" }'],
    ['toml', 'kohya', 'network_di|', 'network_dim = '],
    ['toml', 'kohya', 'mixed_precision = f|', 'mixed_precision = "fp16"'],
    ['toml', 'kohya', 'cache_latents = t|', 'cache_latents = true'],
    ['yaml', 'ai-toolkit', '      - folder_pa|', '      - folder_path: '],
    ['yaml', 'ai-toolkit', '  optimizer: "prod|"', '  optimizer: "prodigy"'],
  ] as const)('completes %s for %s: %s', async (format, trainer, textWithCursor, completed) => {
    expect(await complete(textWithCursor, format, trainer)).toMatchObject({ completed });
  });

  test.each([
    ['a complete value', '{ "model_type": "lora|" }'],
    ['a key that no option contains', '{ "zzz|" }'],
    ['a number as the value of a key', '{ "seed": 4| }'],
    ['an empty line', '|'],
  ])('offers no options for %s', async (_title, textWithCursor) => {
    expect(await complete(textWithCursor, 'json', 'simpletuner')).toBeNull();
  });

  test('offers keys on an empty line when the user requests completion, and all keys that contain the typed text', async () => {
    expect(await complete('|', 'toml', 'kohya', true)).toMatchObject({ labels: { length: 8 } });
    const completion = await complete('max_train|', 'toml', 'kohya');
    expect(completion?.labels).toEqual(['max_train_epochs', 'max_train_steps']);
  });
});

describe('likenessOf', () => {
  test('stays the same when only settings without effect on memory and step time change', () => {
    const likeness = likenessOf('kohya', kohya, 1);
    expect(likeness).not.toBeNull();
    expect(likenessOf('kohya', { ...kohya, max_train_steps: 9, output_name: 'x', seed: 3 }, 1)).toBe(
      likeness,
    );
    expect(likenessOf('kohya', { args: kohya }, 1)).toBe(likeness);
    expect(likenessOf('kohya', { ...kohya, network_dim: '16' }, 1)).toBe(likeness);
  });

  test('differs when the model, the rank, the resolution or the number of GPUs differs', () => {
    const likeness = likenessOf('kohya', kohya, 1);
    for (const change of [{ network_dim: 64 }, { resolution: '768' }, { pretrained_model_name_or_path: 'x' }])
      expect(likenessOf('kohya', { ...kohya, ...change }, 1)).not.toBe(likeness);
    expect(likenessOf('kohya', kohya, 2)).not.toBe(likeness);
  });

  test.each([
    ['a program that Trainyard does not know', 'command', { lr: 1 }],
    ['a config without a model', 'kohya', { lr: 1 }],
    ['values that are too long', 'kohya', { pretrained_model_name_or_path: 'x'.repeat(700) }],
  ] as const)('returns null for %s', (_title, trainer, config) => {
    expect(likenessOf(trainer, config, 1)).toBeNull();
  });
});

describe('stepsOf', () => {
  test.each([
    ['max_train_steps of a kohya config', kohya, 500],
    ['the steps of a process in an ai-toolkit config', aiToolkit, 2_000],
    ['null when epochs replace the steps', { ...kohya, max_train_epochs: 2 }, null],
    ['null without steps', onetrainer, null],
    ['null for steps that are not a number', { ...kohya, max_train_steps: 'many' }, null],
  ])('returns %s', (_title, config, steps) => {
    expect(stepsOf(trainerFor(config).name, config)).toBe(steps);
  });
});
