/** Tests how the worker checks that its trainers can start. Shell scripts act as Python. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeTrainer, probeTrainers, type TrainerChoice } from '../../../../agent/trainers/index.ts';
import { trainerProbe } from '../../../../agent/attempt/trainer.ts';
import { tempFolder, writeFile } from '../builders.ts';

/** A fake Python that can import only these modules and prints their versions. */
function pythonWith(modules: Readonly<Record<string, string>>): string {
  const cases = Object.entries(modules).map(
    ([name, version]) => `${name}) version=\${version:-${version}} ;;`,
  );
  const script = `#!/bin/sh
shift 2
for name in "$@"; do
  case $name in
    ${cases.join('\n    ')}
    *) echo 'Traceback (most recent call last):' >&2; echo "ModuleNotFoundError: No module named '$name'" >&2; exit 1 ;;
  esac
done
echo "some library says hello"
echo "version $version"
`;
  return writeFile(tempFolder(), 'python', script, 0o755);
}

const simpletuner = (python: string | null): TrainerChoice => ({
  kind: 'package',
  name: 'simpletuner',
  python,
});

async function probe(choice: TrainerChoice, env: Readonly<Record<string, string>> = {}) {
  const [trainer] = await probeTrainers([choice], trainerProbe({ PATH: '/usr/bin:/bin', ...env }));
  if (trainer === undefined) throw new Error('no trainer was probed');
  return trainer;
}

describe('SimpleTuner', () => {
  it('imports SimpleTuner, and reads the version of its package', async () => {
    const trainer = await probe(simpletuner(pythonWith({ simpletuner: '4.1.0', torch: '2.11' })));
    expect(trainer).toMatchObject({ version: '4.1.0', problem: null });
    expect(describeTrainer(trainer)).toBe('SimpleTuner 4.1.0');
  });

  it.each([
    ['is not installed', { torch: '2.11' }, "ModuleNotFoundError: No module named 'simpletuner'"],
    ['has no torch', { simpletuner: '4.1.0' }, "ModuleNotFoundError: No module named 'torch'"],
  ])('reports a SimpleTuner that %s, and names the Python', async (_title, modules, error) => {
    const python = pythonWith(modules);
    const { problem } = await probe(simpletuner(python));
    expect(problem).toBe(
      `SimpleTuner cannot be started: ${python} says "${error}". Install SimpleTuner there, or set the Python that has it with --trainer simpletuner=/path/to/venv. To use another trainer, set it with --trainer`,
    );
  });

  it('reports a missing Python for SimpleTuner, on PATH or at the given path', async () => {
    const withoutPython = await probe(simpletuner(null), { PATH: tempFolder() });
    expect(withoutPython.problem).toMatch(
      /^No trainer found: python or python3 is not on this machine\. Install SimpleTuner/,
    );
    const withWrongPath = await probe(simpletuner('/nowhere/venv'));
    expect(withWrongPath.problem).toMatch(/^No trainer found: \/nowhere\/venv is not on this machine/);
  });
});

describe('checkouts', () => {
  const checkout = (name: 'ai-toolkit' | 'kohya', folder: string): TrainerChoice => ({
    kind: 'checkout',
    name,
    folder,
    python: pythonWith({ torch: '2.11', accelerate: '1.2' }),
  });

  it('reads the version of a checkout from version.py', async () => {
    const folder = tempFolder();
    writeFile(folder, 'run.py', '');
    writeFile(folder, 'version.py', 'VERSION = "0.7.2"\n');
    expect(await probe(checkout('ai-toolkit', folder))).toMatchObject({ version: '0.7.2', problem: null });
  });

  it('reports a checkout folder that does not contain the trainer', async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'src'));
    expect((await probe(checkout('kohya', folder))).problem).toBe(
      `kohya's sd-scripts is not in ${folder}, where train_network.py should be: set its folder with --trainer kohya=FOLDER`,
    );
  });
});

describe('commands', () => {
  const program = (name: string): TrainerChoice => ({ kind: 'command', argv: [name, 'x'], takesAll: true });

  it('reports a trainer command that is not on this machine', async () => {
    expect((await probe(program('sh'))).problem).toBeNull();
    expect((await probe(program('/opt/train'))).problem).toBe(
      'No trainer found: /opt/train is not on this machine',
    );
  });
});
