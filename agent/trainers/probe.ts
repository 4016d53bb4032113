import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trainerNamed, type TrainerName } from '../../trainers/index.ts';
import type { CommandResult, RunCommand } from '../process/run-command.ts';
import { nameOfChoice, pythonOf, type TrainerChoice } from './choice.ts';

/** A trainer of the rig, and whether it can be started. */
export interface ProbedTrainer {
  readonly choice: TrainerChoice;
  /** The version that the trainer reports; null if it reports none. */
  readonly version: string | null;
  /** The missing part and what to do about it; null when the trainer can be started. */
  readonly problem: string | null;
}

export interface TrainerProbeDeps {
  readonly run: RunCommand;
  /** Finds a program by its path or on PATH; null if there is none. */
  readonly find: (program: string) => string | null;
}

/** The modules whose import shows whether the trainer works. The version of the first module is the trainer's version. */
const modules: Readonly<Record<Exclude<TrainerName, 'command'>, readonly string[]>> = {
  simpletuner: ['simpletuner', 'torch'],
  'ai-toolkit': ['torch'],
  kohya: ['accelerate', 'torch'],
  onetrainer: ['torch'],
  diffusers: ['accelerate', 'torch'],
};
/** A file in each checkout that distinguishes it from other folders. */
const entryFiles: Readonly<Partial<Record<TrainerName, string>>> = {
  'ai-toolkit': 'run.py',
  kohya: 'train_network.py',
  onetrainer: 'scripts/train.py',
};

/** A Python program that imports the modules, because an installed package may be broken. */
const importProgram =
  'import importlib, importlib.metadata, sys\n' +
  'for name in sys.argv[1:]: importlib.import_module(name)\n' +
  'print("version", importlib.metadata.version(sys.argv[1]))';

/** Checks all trainers at the same time. A trainer whose import takes too long counts as working. */
export const probeTrainers = (
  choices: readonly TrainerChoice[],
  deps: TrainerProbeDeps,
): Promise<readonly ProbedTrainer[]> => Promise.all(choices.map(choice => probe(choice, deps)));

async function probe(choice: TrainerChoice, { run, find }: TrainerProbeDeps): Promise<ProbedTrainer> {
  const broken = (problem: string): ProbedTrainer => ({ choice, version: null, problem });
  if (choice.kind === 'command') {
    const [program = ''] = choice.argv;
    return find(program) === null
      ? broken(`No trainer found: ${program} is not on this machine`)
      : { choice, version: null, problem: null };
  }
  const title = trainerNamed(choice.name)?.title ?? choice.name;
  const entry = entryFiles[choice.name];
  if (choice.kind === 'checkout' && !existsSync(join(choice.folder, entry ?? '')))
    return broken(
      `${title} is not in ${choice.folder}${entry === undefined ? '' : `, where ${entry} should be`}: set its folder with --trainer ${choice.name}=FOLDER`,
    );
  const chosenPython = pythonOf(choice);
  const python = (chosenPython === null ? ['python', 'python3'] : [chosenPython])
    .map(find)
    .find(path => path !== null);
  if (python === undefined)
    return broken(
      `No trainer found: ${chosenPython ?? 'python or python3'} is not on this machine. ${remedyFor(choice, title)}`,
    );
  const result = await run(python, ['-c', importProgram, ...modules[choice.name]]);
  const problem = problemIn(result, python);
  if (problem !== null) return broken(`${title} cannot be started: ${problem}. ${remedyFor(choice, title)}`);
  return { choice, version: versionOf(choice, result), problem: null };
}

function problemIn(result: CommandResult, python: string): string | null {
  if (result.kind === 'timed_out') return null;
  if (result.kind !== 'exited') return `${python} could not be run`;
  if (result.code === 0) return null;
  const lastLine = result.stderr.trimEnd().split('\n').at(-1)?.trim().slice(0, 200);
  return `${python} says "${lastLine ?? ''}"`;
}

const remedyFor = (choice: TrainerChoice, title: string): string =>
  choice.kind === 'package'
    ? `Install ${title} there, or set the Python that has it with --trainer simpletuner=/path/to/venv. To use another trainer, set it with --trainer`
    : `Install its requirements there, or set its Python with --python /path/to/venv`;

function versionOf(choice: TrainerChoice, result: CommandResult): string | null {
  if (choice.kind === 'package' && result.kind === 'exited')
    return /^version (\S{1,60})$/m.exec(result.stdout)?.[1] ?? null;
  return choice.kind === 'checkout' && choice.name === 'ai-toolkit' ? aiToolkitVersion(choice.folder) : null;
}

/** ai-toolkit has its version in `version.py`. */
function aiToolkitVersion(folder: string): string | null {
  try {
    return (
      /^VERSION\s*=\s*["']([^"']{1,60})["']/m.exec(readFileSync(join(folder, 'version.py'), 'utf8'))?.[1] ??
      null
    );
  } catch {
    return null;
  }
}

/** Describes a trainer in one line, for the worker's log and for doctor. */
export const describeTrainer = ({ choice, version }: ProbedTrainer): string => {
  const name = trainerNamed(nameOfChoice(choice))?.title ?? nameOfChoice(choice);
  return version === null ? name : `${name} ${version}`;
};
