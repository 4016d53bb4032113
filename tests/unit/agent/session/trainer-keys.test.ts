/** Tests how a real Python extracts accepted config keys from the code of trainers, and how the agent reports these keys. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTrainerKeys } from '../../../../agent/trainers/known-keys.ts';
import { trainerProbe } from '../../../../agent/attempt/trainer.ts';
import { type ProbedTrainer, readKnownKeys, type TrainerChoice } from '../../../../agent/trainers/index.ts';
import { tempFolder, writeFile } from '../builders.ts';

type Files = Readonly<Record<string, string>>;

const env = { PATH: process.env['PATH'] };
const python = trainerProbe(env).find('python3');

function folderWith(files: Files): string {
  const folder = tempFolder();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

const checkout = (name: 'kohya' | 'ai-toolkit' | 'onetrainer', folder: string): TrainerChoice => ({
  kind: 'checkout',
  name,
  folder,
  python,
});

/** Python code with the same structure as SimpleTuner's field registry. */
const registry = `
class Field:
    def __init__(self, name, arg_name, aliases=None):
        self.name, self.arg_name, self.aliases = name, arg_name, aliases

class Registry:
    def __init__(self):
        self._fields = {field.name: field for field in [
            Field('learning_rate', '--learning_rate', ['--lr']),
            Field('dataset_only', None),
        ]}

print('a library says hello')
field_registry = Registry()
`;

describe.skipIf(python === null)('readKnownKeys', () => {
  it("reads SimpleTuner's registered fields, their aliases and legacy options", async () => {
    const folder = folderWith({
      'simpletuner/simpletuner_sdk/server/services/field_registry/__init__.py': registry,
      'simpletuner/helpers/configuration/cli_utils.py': "_LEGACY_ARG_HANDLERS = {'validation_steps': None}\n",
    });
    const choice: TrainerChoice = { kind: 'package', name: 'simpletuner', python };
    const keys = await readKnownKeys(choice, trainerProbe({ ...env, PYTHONPATH: folder }));
    expect(keys).toEqual(['dataset_only', 'learning_rate', 'lr', 'validation_steps']);
  });

  it('reads the arguments of sd-scripts from their source without running the scripts', async () => {
    const folder = folderWith({
      'train_network.py': 'import nothing_of_this_name\nparser.add_argument("--network_dim", type=int)\n',
      'library/train_util.py':
        'def add(parser: argparse.ArgumentParser):\n' +
        '    parser.add_argument("--no-metadata", action="store_true")\n' +
        '    parser.add_argument("--sample_every", dest="sample_every_n_steps")\n',
      'library/broken.py': 'def (\n',
      'venv/lib/other.py': 'parser.add_argument("--of_a_library")\n',
    });
    expect(await readKnownKeys(checkout('kohya', folder), trainerProbe(env))).toEqual([
      'network_dim',
      'no_metadata',
      'sample_every_n_steps',
    ]);
  });

  it("reads the keys that ai-toolkit's code reads from a config", async () => {
    const folder = folderWith({
      'toolkit/config_modules.py':
        'class TrainConfig:\n    def __init__(self, **kwargs):\n        self.steps = kwargs.get("steps", 1000)\n',
      'toolkit/config.py': "if 'name' not in config['config']:\n    raise ValueError\n",
      'jobs/BaseJob.py':
        "class BaseJob:\n    def go(self):\n        self.get_conf('process', required=True)\n",
    });
    expect(await readKnownKeys(checkout('ai-toolkit', folder), trainerProbe(env))).toEqual([
      'config',
      'name',
      'process',
      'steps',
    ]);
  });

  it("reads the names in the code of OneTrainer's config", async () => {
    const folder = folderWith({
      'modules/util/config/TrainConfig.py':
        'data = []\ndata.append(("training_method", None, str, False))\n# "not this"\ndata.append(("epochs", 100, int, False))\n',
    });
    expect(await readKnownKeys(checkout('onetrainer', folder), trainerProbe(env))).toEqual([
      'epochs',
      'training_method',
    ]);
  });

  it('returns null if the code is missing or cannot be imported', async () => {
    expect(await readKnownKeys(checkout('onetrainer', tempFolder()), trainerProbe(env))).toBeNull();
    const choice: TrainerChoice = { kind: 'package', name: 'simpletuner', python };
    expect(await readKnownKeys(choice, trainerProbe(env))).toBeNull();
  });
});

describe("output of the trainer's Python", () => {
  /** A shell script that prints one valid key, and values that cannot be keys. */
  const invalidOutput =
    '#!/bin/sh\necho \'trainyard-keys ["fine", "with space", 7, "\'"$(head -c 200 /dev/zero | tr "\\0" x)"\'"]\'\n';

  it('drops entries that cannot be keys', async () => {
    const fake = writeFile(tempFolder(), 'python', invalidOutput, 0o755);
    const choice: TrainerChoice = { kind: 'package', name: 'simpletuner', python: fake };
    expect(await readKnownKeys(choice, trainerProbe(env))).toEqual(['fine']);
  });

  it.each([
    ['an unfinished list', 'trainyard-keys ["a'],
    ['a value that is not a list', 'trainyard-keys 7'],
    ['other output', 'hello'],
  ])('returns null when Python prints %s', async (_title, output) => {
    const fake = writeFile(tempFolder(), 'python', `#!/bin/sh\necho '${output}'\n`, 0o755);
    const choice: TrainerChoice = { kind: 'package', name: 'simpletuner', python: fake };
    expect(await readKnownKeys(choice, trainerProbe(env))).toBeNull();
  });

  it.each<readonly [string, TrainerChoice]>([
    ['a command of the owner', { kind: 'command', argv: ['train'], takesAll: true }],
    ['scripts for accelerate', { kind: 'checkout', name: 'diffusers', folder: '/opt/scripts', python: null }],
    ['a missing Python', { kind: 'package', name: 'simpletuner', python: '/not/there/python' }],
  ])('returns null for %s', async (_title, choice) => {
    expect(await readKnownKeys(choice, trainerProbe(env))).toBeNull();
  });
});

describe('createTrainerKeys', () => {
  const probed = (choice: TrainerChoice, problem: string | null = null): ProbedTrainer => ({
    choice,
    version: null,
    problem,
  });
  const trainers = [
    probed({ kind: 'package', name: 'simpletuner', python: null }),
    probed({ kind: 'checkout', name: 'kohya', folder: '/opt/sd', python: null }, 'it is broken'),
  ];

  it('reads the keys of a trainer once, and sends the keys on each request', async () => {
    const sent: (readonly [string, readonly string[]])[] = [];
    let reads = 0;
    const report = createTrainerKeys({
      trainers,
      read: () => {
        reads += 1;
        return Promise.resolve(['seed']);
      },
      send: (trainer, keys) => {
        sent.push([trainer, keys]);
        return Promise.resolve({ ok: true, value: { success: true } });
      },
    });
    await report([]);
    expect([reads, sent]).toEqual([0, []]);
    await report(['simpletuner', 'kohya', 'unknown-trainer']);
    await report(['simpletuner']);
    expect([reads, sent]).toEqual([
      1,
      [
        ['simpletuner', ['seed']],
        ['simpletuner', ['seed']],
      ],
    ]);
  });

  it('sends no keys when they cannot be read', async () => {
    const report = createTrainerKeys({
      trainers,
      read: () => Promise.resolve(null),
      send: () => Promise.reject(new Error('nothing must be sent')),
    });
    await expect(report(['simpletuner'])).resolves.toBeUndefined();
  });
});
