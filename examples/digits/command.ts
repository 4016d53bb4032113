import { basename, join } from 'node:path';
import { parseArguments, USAGE } from './arguments.ts';
import { systemErrorText } from './checked.ts';
import { pruneCheckpoints, writeCheckpoint } from './checkpoint.ts';
import type { Progress } from './progress.ts';
import { createRequests } from './requests.ts';
import { prepareRun, type Run } from './run.ts';
import { type TrainingOutcome, type TrainingState, train } from './training.ts';
import { createUploads, type Destination } from './upload.ts';
import { writeWhole } from './whole-file.ts';

export type CommandPorts = {
  /** Writes a line to standard output; the line has no line break. */
  readonly print: (line: string) => void;
  /** Writes a line to standard error. */
  readonly printError: (line: string) => void;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** Fires when the training must write a checkpoint and stop. */
  readonly stop: AbortSignal;
  /** Where to upload results; undefined to upload nothing. */
  readonly destination?: Destination | undefined;
  /** Returns true if a checkpoint was requested since the last call. Absent if requests are not supported. */
  readonly consumeSaveRequest?: () => boolean;
};

const never = new AbortController().signal;
const EXIT_DONE = 0;
const EXIT_FAILED = 1;
const EXIT_REFUSED = 2;
const EXIT_STOPPED = 143; // 128 + SIGTERM, as in shells

/**
 * Runs the whole program and returns its exit code:
 * - 0: the training is complete.
 * - 1: the training failed.
 * - 2: the program refused to start because of its arguments, config, digits or checkpoint.
 * - 143: the training stopped with a checkpoint of the current step.
 */
export async function runCommand(argv: readonly string[], ports: CommandPorts): Promise<number> {
  if (argv.includes('--help')) {
    ports.print(USAGE);
    return EXIT_DONE;
  }
  const args = parseArguments(argv);
  const run = args.ok ? await prepareRun(args.value) : args;
  if (!run.ok) {
    ports.printError(`digits: ${run.reason}`);
    return EXIT_REFUSED;
  }
  try {
    return await trainAndReport(run.value, ports);
  } catch (error) {
    ports.printError(`digits: cannot write to ${run.value.output}: ${systemErrorText(error)}`);
    return EXIT_FAILED;
  }
}

async function trainAndReport(run: Run, ports: CommandPorts): Promise<number> {
  const { config, output, identity, start } = run;
  const uploads = createUploads(ports);
  let checkpoint: string | undefined;
  ports.print(start === undefined ? 'training from the beginning' : `continuing after step ${start.step}`);
  const trainingPorts = {
    now: ports.now,
    stop: ports.stop,
    report: (progress: Progress) => ports.print(formatProgress(progress)),
    onEpoch: (epoch: number, accuracy: number) =>
      ports.print(`epoch ${epoch} of ${config.epochs} done, test accuracy ${(100 * accuracy).toFixed(2)} %`),
    save: async (state: TrainingState, isRequested: boolean) => {
      checkpoint = await writeCheckpoint(output, { ...state, identity });
      await pruneCheckpoints(output, state.step, config.keepCheckpoints);
      const name = basename(checkpoint);
      ports.print(isRequested ? `saved ${name} as asked` : `wrote ${name}`);
      if (isRequested) uploads.begin(checkpoint, name);
    },
    requests: createRequests({
      ...ports,
      output,
      test: run.digits.test,
      everyEpoch: config.samples,
      consumeSaveRequest: ports.consumeSaveRequest ?? (() => false),
      onSample: uploads.begin,
    }),
  };
  const outcome = await train(config, run.digits, run.shape, trainingPorts, start);
  // The stop signal also cancels uploads, so a stopped training does not wait for them.
  await uploads.settled();
  return await conclude(outcome, run, checkpoint, ports);
}

async function conclude(
  outcome: TrainingOutcome,
  { config, output }: Run,
  checkpoint: string | undefined,
  ports: CommandPorts,
): Promise<number> {
  if (outcome.kind === 'diverged') {
    ports.printError(
      `digits: the training diverged at step ${outcome.step}, with a learning rate of ` +
        `${outcome.learningRate.toPrecision(3)}: ${outcome.symptom}. ` +
        'Lower learning_rate or final_learning_rate (0.1 and below work), and start again',
    );
    return EXIT_FAILED;
  }
  if (outcome.kind === 'stopped') {
    ports.print(`stopped after step ${outcome.state.step}; --resume-from ${checkpoint} continues from here`);
    return EXIT_STOPPED;
  }
  const { accuracy, state } = outcome;
  const result = {
    accuracy,
    steps: state.step,
    epochs: config.epochs,
    train_seconds: state.trainSeconds,
    checkpoint,
  };
  await writeWhole(join(output, 'result.json'), [Buffer.from(`${JSON.stringify(result, null, 2)}\n`)]);
  const files = [...(checkpoint === undefined ? [] : [checkpoint]), join(output, 'result.json')];
  // The training is complete, so neither a failed upload nor a late stop changes the result.
  const finalUploads = createUploads({ ...ports, stop: never });
  for (const path of files) finalUploads.begin(path, basename(path));
  await finalUploads.settled();
  // Also print the accuracy as progress, so that the orchestrator shows it.
  ports.print(JSON.stringify({ type: 'progress', step: state.step, total_steps: state.step, accuracy }));
  ports.print(JSON.stringify({ type: 'result', accuracy, checkpoint }));
  return EXIT_DONE;
}

function formatProgress(progress: Progress): string {
  return JSON.stringify({
    type: 'progress',
    step: progress.step,
    total_steps: progress.totalSteps,
    epoch: progress.epoch,
    loss: round(progress.loss),
    learning_rate: round(progress.learningRate),
    steps_per_second: round(progress.stepsPerSecond),
  });
}

/** Rounds to five significant digits, to shorten the log. */
function round(value: number): number {
  return Number(value.toPrecision(5));
}
