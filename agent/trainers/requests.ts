import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestKind } from '../../protocol/requests.ts';
import type { TrainerName } from '../../trainers/index.ts';
import type { RunCommand } from '../process/run-command.ts';
import { readFields, showWhole } from '../files/whole-file.ts';
import { pythonOf, type TrainerChoice } from './choice.ts';
import { onetrainerPipe } from './checkouts.ts';
import { simpletunerRequests } from './simpletuner.ts';

export interface TrainerRequest {
  readonly kind: RequestKind;
  /** The job's own folder. */
  readonly folder: string;
  readonly choice: Exclude<TrainerChoice, { readonly kind: 'command' }>;
  readonly run: RunCommand;
}

export type Requested =
  /** The trainer's name for the request, such as `manual_checkpoint`, for people. */
  | { readonly ok: true; readonly by: string }
  /** Completes "Can't ask ...: ". */
  | { readonly ok: false; readonly reason: string };

const counters = { save: 'manual_checkpoint', sample: 'manual_validation' } as const;

/** Increments a counter in SimpleTuner's file. SimpleTuner reads the file at every step, and acts on a new count. */
async function askSimpletuner({ kind, folder }: TrainerRequest): Promise<Requested> {
  const file = join(folder, simpletunerRequests);
  const counts = readFields(file);
  if (counts === null) return { ok: false, reason: 'an older version of this worker started it' };
  const key = counters[kind];
  showWhole(file, JSON.stringify({ ...counts, [key]: (Number(counts[key]) || 0) + 1 }));
  return { ok: true, by: key };
}

const methods = { save: 'backup', sample: 'sample_default' } as const;

/** A Python program that sends a command with OneTrainer's own class, so that the format fits the installed version. */
const sendCommand = `
import errno, os, pickle, sys
sys.path.insert(0, sys.argv[1])
from modules.util.commands.TrainCommands import TrainCommands
commands = TrainCommands()
getattr(commands, sys.argv[3])()
try:
    os.write(os.open(sys.argv[2], os.O_WRONLY | os.O_NONBLOCK), pickle.dumps(commands))
except OSError as error:
    sys.exit('it does not listen at the moment' if error.errno == errno.ENXIO else str(error))
`;

/**
 * Sends a command through OneTrainer's pipe. For `save`, requests a backup, from which a later run can continue, because
 * OneTrainer's plain save contains only the weights.
 */
async function askOnetrainer({ kind, folder, choice, run }: TrainerRequest): Promise<Requested> {
  const pipe = join(folder, onetrainerPipe);
  if (choice.kind !== 'checkout' || !existsSync(pipe))
    return { ok: false, reason: 'it was started without a pipe for requests' };
  const python = pythonOf(choice) ?? 'python3';
  const method = methods[kind];
  const result = await run(python, ['-c', sendCommand, choice.folder, pipe, method]);
  if (result.kind === 'exited' && result.code === 0) return { ok: true, by: method };
  const lastLine = result.kind === 'exited' ? (result.stderr.trimEnd().split('\n').at(-1) ?? '') : '';
  return { ok: false, reason: lastLine === '' ? `${python} could not be run` : lastLine };
}

/** Functions that send a request, such as "save now", to a running trainer. For other trainers, the config defines how. */
export const trainerRequests: Readonly<
  Partial<Record<TrainerName, (request: TrainerRequest) => Promise<Requested>>>
> = { simpletuner: askSimpletuner, onetrainer: askOnetrainer };
