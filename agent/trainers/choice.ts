import { statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { trainerNames, type TrainerName } from '../../trainers/index.ts';
import { splitCommand } from './argv.ts';
import { fail, type Loaded } from '../files/failure-text.ts';

/** A trainer that the rig's owner offers, and its location. */
export type TrainerChoice =
  /** An installed package. `python`: the Python in which it is installed; null for the Python on PATH. */
  | { readonly kind: 'package'; readonly name: 'simpletuner'; readonly python: string | null }
  /** A checkout of the source code. If `python` is null, the virtual environment in the checkout is used. */
  | {
      readonly kind: 'checkout';
      readonly name: Exclude<TrainerName, 'simpletuner' | 'command'>;
      readonly folder: string;
      readonly python: string | null;
    }
  /**
   * A program of the owner, run without a shell. `takesAll`: the program also runs configs of known trainers that the
   * rig does not have.
   */
  | { readonly kind: 'command'; readonly argv: readonly string[]; readonly takesAll: boolean };

export const nameOfChoice = (choice: TrainerChoice): TrainerName =>
  choice.kind === 'command' ? 'command' : choice.name;

/**
 * Parses trainers from repeated `--trainer`, or from a text or list in the config file. `python`: the value of
 * `--python`.
 */
export function parseTrainers(input: unknown, python: string | null): Loaded<readonly TrainerChoice[]> {
  const texts = (Array.isArray(input) ? input : [input ?? 'simpletuner']).map(String);
  const choices: TrainerChoice[] = [];
  for (const text of texts) {
    const choice = parseTrainer(text.trim(), python);
    if (!choice.ok) return choice;
    if (choices.some(other => nameOfChoice(other) === nameOfChoice(choice.value)))
      return fail(`--trainer ${nameOfChoice(choice.value)} is given twice. Use each trainer once`);
    choices.push(choice.value);
  }
  return { ok: true, value: choices };
}

function parseTrainer(text: string, python: string | null): Loaded<TrainerChoice> {
  const [, prefix = '', where = ''] = /^([a-z-]+)(?:=(.*))?$/s.exec(text) ?? [];
  const name = trainerNames.find(each => each === prefix);
  if (name === undefined) return commandOf(text, true);
  if (name === 'command') return commandOf(where, false);
  if (name === 'simpletuner')
    return { ok: true, value: { kind: 'package', name, python: where === '' ? python : resolve(where) } };
  return where === ''
    ? fail(`--trainer ${name} has no folder. Use --trainer ${name}=/path/to/${name}`)
    : { ok: true, value: { kind: 'checkout', name, folder: resolve(where), python } };
}

function commandOf(text: string, takesAll: boolean): Loaded<TrainerChoice> {
  const split = splitCommand(text);
  if (!split.ok) return fail(`--trainer: ${split.message}`);
  const [program = '', ...args] = split.argv;
  const path = /[/\\]/.test(program) ? resolve(program) : program;
  return { ok: true, value: { kind: 'command', argv: [path, ...args], takesAll } };
}

const pythonPaths =
  process.platform === 'win32' ? ['Scripts/python.exe', 'python.exe'] : ['bin/python', 'bin/python3'];

/** Returns the Python of a virtual or conda environment if the path is a folder; else the path itself. */
function pythonAt(path: string): string {
  if (!isFolder(path)) return path;
  return pythonPaths.map(inner => join(path, inner)).find(isFile) ?? path;
}

/**
 * Returns the Python in a trainer's settings, else the Python of the checkout's environment; null for the
 * Python on PATH.
 */
export function pythonOf(choice: Exclude<TrainerChoice, { kind: 'command' }>): string | null {
  if (choice.python !== null) return pythonAt(choice.python);
  if (choice.kind === 'package') return null;
  const environmentPython = ['venv', '.venv', 'env', 'conda_env']
    .map(name => pythonAt(join(choice.folder, name)))
    .find(isFile);
  return environmentPython ?? null;
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
const isFolder = (path: string): boolean => isAbsolute(path) && statOf(path)?.isDirectory() === true;
const isFile = (path: string): boolean => statOf(path)?.isFile() === true;
