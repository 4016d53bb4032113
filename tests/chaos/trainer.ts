/**
 * The trainer of a chaos run. It records all its output in a journal, which the run compares with the product's records.
 *
 *   node trainer.ts --config {config_path} --output {output_dir} --resume {resume_from} --journal FILE
 */
import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { machineNow, type TrainerLine, type TrainerNote } from './journal.ts';

const { values } = parseArgs({
  options: {
    config: { type: 'string', default: '' },
    output: { type: 'string', default: '' },
    resume: { type: 'string', default: '' },
    journal: { type: 'string', default: '' },
  },
});
const Config = z.object({
  n: z.number(),
  steps: z.number(),
  step_ms: z.number(),
  checkpoint_every: z.number(),
  exit_code: z.number(),
});
const State = z.object({ n: z.number(), step: z.number() });
const config = Config.parse(JSON.parse(readFileSync(values.config, 'utf8')));
const job = values.config.split('/').findLast(part => part.startsWith('j_')) ?? 'unknown';
/** The id of the attempt. The parent process is the guard, whose folder has this name. */
const attempt = basename(readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').split('\0').at(-2) ?? '');
const rig = Number(/\/work-rig-(\d+)\//.exec(values.config)?.[1]) - 1;
const stdout = 1;
const weightBytes = 48 * 1_024;

/** Writes a record into the journal. */
function record(note: TrainerNote): void {
  const line: TrainerLine = { ...note, at: machineNow(), pid: process.pid, job, attempt, rig };
  appendFileSync(values.journal, `${JSON.stringify(line)}\n`);
}

/** Prints synchronously, so that a kill loses no buffered output. Ignores errors, because the reader may have ended. */
function print(text: string): void {
  try {
    writeSync(stdout, text);
  } catch {
    // The journal contains the text in any case.
  }
}

/** Writes files below the output folder. Returns their hashes. */
function write(files: Readonly<Record<string, Uint8Array | string>>): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const [key, content] of Object.entries(files)) {
    writeFileSync(join(values.output, key), content);
    hashes[key] = createHash('sha256').update(content).digest('hex');
  }
  return hashes;
}

function saveCheckpoint(step: number): void {
  const name = `checkpoint-${step}`;
  mkdirSync(join(values.output, name), { recursive: true });
  const files = write({
    [`${name}/weights.bin`]: randomBytes(weightBytes),
    [`${name}/state.json`]: JSON.stringify({ n: config.n, step, pid: process.pid }),
  });
  record({ kind: 'checkpoint', step, files });
}

/**
 * Loads the checkpoint to resume from. Returns its step; 0 without a checkpoint, or -1 if the checkpoint belongs to another
 * job.
 */
function resume(): number {
  if (values.resume === '') return 0;
  const checkpoint = basename(values.resume);
  const state = State.parse(JSON.parse(readFileSync(join(values.resume, 'state.json'), 'utf8')));
  const files = Object.fromEntries(
    readdirSync(values.resume).map(name => [
      `${checkpoint}/${name}`,
      createHash('sha256')
        .update(readFileSync(join(values.resume, name)))
        .digest('hex'),
    ]),
  );
  record({ kind: 'resume', checkpoint, step: state.step, files });
  return state.n === config.n ? state.step : -1;
}

function end(): never {
  if (config.exit_code === 0) {
    record({ kind: 'final', files: write({ 'model.safetensors': randomBytes(weightBytes) }) });
  }
  record({ kind: 'end', code: config.exit_code });
  process.exit(config.exit_code);
}

function train(firstStep: number): void {
  let step = firstStep;
  setInterval(() => {
    if (step >= config.steps) end();
    step += 1;
    // The loss depends on the pid, so that each point shows which process produced it.
    const loss = Number((1 / (step + 1) + (process.pid % 10_000) / 1e8).toFixed(9));
    const progress = JSON.stringify({ type: 'progress', step, total_steps: config.steps, loss });
    // Contains characters of several bytes, which a proxy or a log may cut in the middle.
    const text = `Schritt ${step} für Auftrag ${config.n}: ✓ 学習 ${'·'.repeat(step % 40)}\n${progress}\n`;
    record({ kind: 'step', step, loss, text });
    print(text);
    if (step % config.checkpoint_every === 0) saveCheckpoint(step);
  }, config.step_ms);
}

process.on('SIGTERM', () => {
  record({ kind: 'term' });
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
});
record({ kind: 'start', n: config.n });
train(resume());
