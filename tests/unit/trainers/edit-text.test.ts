import { describe, expect, test } from 'vitest';
import {
  type ConfigFormat,
  formFieldsOf,
  openConfigText,
  placeOf,
  trainerFor,
} from '../../../trainers/index.ts';
import { aiToolkit, kohyaSections, onetrainer, simpletuner } from './configs.ts';

// The texts imitate the examples of each trainer: comments, quotes, sections, lists, exponents.
const yaml = `---
job: extension
config:
  # this name will be the folder
  name: "my_first_lora"
  process:
    - type: 'sd_trainer'
#      trigger_word: "p3r5on"
      network:
        type: "lora"
        linear: 16 # rank
      datasets:
        - folder_path: "/data/dog"
          resolution: [ 512, 768, 1024 ]  # several
      train:
        batch_size: 1
        steps: 2000  # total
        optimizer: adamw8bit
        lr: 1e-4
      model:
        name_or_path: 'black-forest-labs/FLUX.1-dev'
      sample:
        prompts:
          # comments between prompts
          - "woman with red hair"
          - "a horse"
meta:
  version: '1.0'
`;
const toml = `script = "train_network.py"

[Basics]
pretrained_model_name_or_path = "/path/to/model"
resolution = "512"
max_train_steps = 10_000\t# overwritten by epochs

[Network_setup]
network_module = "networks.lora"
network_dim = 8
network_args = [ "conv_dim=4", # a list
  "algo=loha",]

[Optimizer]
learning_rate = 2e-4   # low
mixed_precision = 'bf16'
`;
const json = `{
    "--model_family": "flux",
    "--learning_rate": "1e-4",
    "--max_train_steps": 10000,
    "--validation_prompt": "a cat, \\"quoted\\""
}
`;

/** Opens the form field with this name for a config text. Returns functions that read and write the field. */
function fieldIn(text: string, format: ConfigFormat, name: string) {
  const open = openConfigText(text, format);
  if (open === null) throw new Error('the text cannot be opened');
  const trainer = trainerFor(open.value).name;
  const field = formFieldsOf(trainer).find(candidate => candidate.name === name);
  const place = field === undefined ? null : placeOf(field, trainer, open.value);
  if (field === undefined || place === null) throw new Error(`there is no field ${name}`);
  return { read: () => open.read(place), write: (typed: string) => open.write(place, field.kind, typed) };
}

describe('the form for a config text', () => {
  test.each([
    ['yaml', yaml, 'name', 'my_first_lora', 'dog: v2', 'name: "my_first_lora"', 'name: "dog: v2"'],
    ['yaml', yaml, 'rank', '16', '32', 'linear: 16 # rank', 'linear: 32 # rank'],
    ['yaml', yaml, 'learningRate', '1e-4', '3e-5', 'lr: 1e-4', 'lr: 3e-5'],
    ['yaml', yaml, 'resolution', '512, 768, 1024', '640,896', '[ 512, 768, 1024 ]  #', '[640, 896]  #'],
    ['yaml', yaml, 'resolution', '512, 768, 1024', '1024', '[ 512, 768, 1024 ]  #', '[1024]  #'],
    ['yaml', yaml, 'optimizer', 'adamw8bit', 'prodigy', 'optimizer: adamw8bit', 'optimizer: prodigy'],
    [
      'yaml',
      yaml,
      'model',
      'black-forest-labs/FLUX.1-dev',
      "it's",
      "'black-forest-labs/FLUX.1-dev'",
      "'it''s'",
    ],
    ['yaml', yaml, 'prompt', 'woman with red hair', 'a "dog"', '"woman with red hair"', '"a \\"dog\\""'],
    ['toml', toml, 'rank', '8', '16', 'network_dim = 8', 'network_dim = 16'],
    ['toml', toml, 'steps', '10_000', '500', '10_000\t#', '500\t#'],
    ['toml', toml, 'resolution', '512', '768,768', '"512"', '"768,768"'],
    ['toml', toml, 'learningRate', '2e-4', '.5', '2e-4   # low', '0.5   # low'],
    ['toml', toml, 'precision', 'bf16', 'fp16', "'bf16'", '"fp16"'],
    // The example config of SimpleTuner has numbers in quotes, which the trainer accepts.
    ['json', json, 'learningRate', '1e-4', '5e-5', '"1e-4"', '"5e-5"'],
    ['json', json, 'steps', '10000', '2000', '10000', '2000'],
    ['json', json, 'prompt', 'a cat, "quoted"', 'a dog', '"a cat, \\"quoted\\""', '"a dog"'],
  ] as const)(
    'changes in a %s text only the value of the edited field (case %#)',
    (format, text, name, oldValue, typed, before, after) => {
      const field = fieldIn(text, format, name);
      expect(field.read()).toBe(oldValue);
      expect(field.write(typed)).toBe(text.replace(before, after));
    },
  );

  test.each([
    ['yaml', yaml, 'precision', 'bf16', '        lr: 1e-4\n', '        lr: 1e-4\n        dtype: bf16\n'],
    ['toml', toml, 'seed', '7', 'train_network.py"\n', 'train_network.py"\nseed = 7\n'],
    ['json', json, 'seed', '7', 'quoted\\""\n', 'quoted\\"",\n    "--seed": 7\n'],
    [
      'toml',
      toml.replace('script', '# no'),
      'seed',
      '7',
      'train_network.py"\n',
      'train_network.py"\nseed = 7\n',
    ],
    ['toml', `[a]${toml.slice(toml.indexOf('\n\n'))}`, 'seed', '7', '[a]', 'seed = 7\n[a]'],
  ] as const)('adds a missing key to a %s text (case %#)', (format, text, name, typed, before, after) => {
    expect(fieldIn(text, format, name).read()).toBe('');
    expect(fieldIn(text, format, name).write(typed)).toBe(text.replace(before, after));
  });

  test.each([
    ['yaml', yaml, 'steps', '        steps: 2000  # total\n'],
    ['toml', toml, 'learningRate', 'learning_rate = 2e-4   # low\n'],
    ['json', json, 'steps', '    "--max_train_steps": 10000,\n'],
  ] as const)('removes the key of an emptied field in %s', (format, text, name, line) => {
    expect(fieldIn(text, format, name).write(' ')).toBe(text.replace(line, ''));
  });

  test('keeps the text unchanged when an empty field stays empty', () => {
    expect(fieldIn(json, 'json', 'seed').write('')).toBe(json);
  });

  test('keeps Windows line ends', () => {
    const text = toml.replaceAll('\n', '\r\n');
    expect(fieldIn(text, 'toml', 'seed').write('7')).toBe(text.replace('.py"', '.py"\r\nseed = 7'));
    const windows = yaml.replaceAll('\n', '\r\n');
    expect(fieldIn(windows, 'yaml', 'precision').write('bf16')).toBe(
      windows.replace('lr: 1e-4', 'lr: 1e-4\r\n        dtype: bf16'),
    );
  });

  test.each([
    ['a value in a section that the config lacks', yaml.replace(/ {6}network:[^]*?rank\n/, ''), 'rank', '8'],
    ['the first prompt of a list', yaml, 'prompt', ''],
    [
      'a key on the same line as another key',
      '{config: {name: a, process: [{type: b}]}, job: c}',
      'name',
      '',
    ],
  ])('returns null for a change that the form cannot make in the text: %s', (_title, text, name, typed) => {
    expect(fieldIn(text, 'yaml', name).write(typed)).toBeNull();
  });

  test.each([
    ['a list that does not end', 'yaml', 'a: ['],
    ['a key without a value', 'toml', 'a = '],
    ['a list instead of a config', 'json', '[1]'],
  ] as const)('does not open %s', (_title, format, text) => {
    expect(openConfigText(text, format)).toBeNull();
  });

  test.each([
    ['simpletuner', simpletuner, 10],
    ['ai-toolkit', aiToolkit, 11],
    ['kohya', kohyaSections, 11],
    ['onetrainer', onetrainer, 10],
    ['command', { lr: 1 }, 0],
  ])('has the expected number of fields for %s', (name, config, count) => {
    expect(trainerFor(config).name).toBe(name);
    expect(formFieldsOf(trainerFor(config).name)).toHaveLength(count);
  });
});
