/**
 * The trainer of fault tests. The job's config controls the trainer (`StubConfig`). All trainers of a test append JSON lines to
 * one file, with the pid, the job and the time of the machine's monotonic clock. The file shows which runs overlapped and which
 * continued.
 *
 *   node stub-trainer.ts --config {config_path} --record FILE
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { StubConfig, TrainerLine } from './trainer-record.ts';

const tickMs = 50;
const stormTickMs = 10;

const { values } = parseArgs({
  options: {
    config: { type: 'string', default: '' },
    record: { type: 'string', default: '' },
    /** For a descendant of a trainer: the number of generations below this process. */
    descendant: { type: 'string' },
  },
});
const config = JSON.parse(readFileSync(values.config, 'utf8')) as StubConfig;
/** The job's id, which is the name of a folder in the path of the config. */
const job = values.config.split('/').findLast(part => /^j_[a-z0-9]+$/.test(part)) ?? 'unknown';

function record(kind: TrainerLine['kind'], more: Partial<TrainerLine> = {}): void {
  const at = Number(process.hrtime.bigint()) / 1e6;
  const line: TrainerLine = { kind, at, pid: process.pid, job, ...more };
  appendFileSync(values.record, `${JSON.stringify(line)}\n`);
}

function runDescendant(generations: number): void {
  record('child');
  process.on('SIGTERM', () => record('term'));
  spawnDescendants(generations);
  setInterval(() => {}, 60_000);
}

function spawnDescendants(generations: number): void {
  if (generations === 0) return;
  const sharedArgs = ['--config', values.config, '--record', values.record];
  const argv = [
    ...process.execArgv,
    process.argv[1] ?? '',
    ...sharedArgs,
    '--descendant',
    String(generations - 1),
  ];
  spawn(process.execPath, argv, { stdio: 'inherit' });
}

function runTrainer(): void {
  process.on('SIGTERM', endBySignal);
  record('start', { leaks: leaks() });
  if (config.die_at_start !== undefined) {
    process.kill(process.pid, config.die_at_start);
    return;
  }
  spawnDescendants(config.generations ?? 0);
  if (config.print !== undefined) startOutputStorm(config.print);
  train();
}

function endBySignal(): void {
  record('term');
  if (config.ignore_sigterm === true) return;
  record('end', { signal: 'SIGTERM' });
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}

const secret = /\b(?:wt|ta)_[\w-]{20,}/;
/** Returns the names of the environment variables that contain a token. */
const leaks = (): string[] => Object.keys(process.env).filter(name => secret.test(process.env[name] ?? ''));

function train(): void {
  const endsAt = performance.now() + (config.run_ms ?? Number.POSITIVE_INFINITY);
  const steps = Math.max(1, Math.round((config.run_ms ?? 60_000) / tickMs));
  const endFiles = config.until === undefined ? [] : [config.until, `${config.until}.${process.pid}`];
  let step = 0;
  setInterval(() => {
    const mustEnd = endFiles.some(file => existsSync(file));
    if (mustEnd || performance.now() >= endsAt) end();
    step += 1;
    record('tick');
    print(
      `${JSON.stringify({ type: 'progress', step: Math.min(step, steps), total_steps: steps, loss: 1 / step })}\n`,
    );
  }, tickMs);
}

/** Exits immediately. No output is lost, because writes to pipes are synchronous. */
function end(): never {
  const code = config.exit_code ?? 0;
  record('end', { code });
  process.exit(code);
}

/** Prints. Ignores write errors, so that the trainer survives its guard and tests can find it as an orphan. */
function print(text: string | Uint8Array): void {
  process.stdout.write(text, () => {});
}

/** Prints the output in the config at its rate, or more slowly if the reader cannot keep up. */
function startOutputStorm({ kind, bytes, bytes_per_s: rate }: NonNullable<StubConfig['print']>): void {
  const units = {
    lines: Buffer.from(`${'lorem ipsum dolor sit amet '.repeat(4)}\n`),
    one_line: Buffer.from('x'),
    binary: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  };
  const piece = Buffer.alloc(Math.ceil((rate * stormTickMs) / 1_000), units[kind]);
  let left = bytes;
  const timer = setInterval(() => {
    print(piece.subarray(0, Math.min(left, piece.length)));
    left -= piece.length;
    if (left > 0) return;
    clearInterval(timer);
    if (kind === 'one_line') print('\n');
    record('printed');
  }, stormTickMs);
}

process.stdout.on('error', () => {});
if (values.descendant === undefined) runTrainer();
else runDescendant(Number(values.descendant));
