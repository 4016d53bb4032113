#!/usr/bin/env node
import { createRequire } from 'node:module';
import { isSea } from 'node:sea';
import { CommanderError } from 'commander';
import { version } from '../protocol/version.ts';
import { workerCommand } from './cli/command.ts';

/** Runs the worker program, which is bundled into one file for rigs. Resolves with its exit code. */
async function main(): Promise<number> {
  let code = 0;
  const command = workerCommand({
    env: process.env,
    // A single executable needs no script path.
    ownCommand: [process.execPath, ...(isSea() ? [] : [...process.execArgv, process.argv[1] ?? ''])],
    args: process.argv.slice(2),
    version,
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    exit: value => {
      code = value;
    },
    onSignal: (signal, act) => void process.on(signal, act),
  })
    .name('trainyard-worker')
    .version(version)
    .exitOverride();
  try {
    await command.parseAsync(process.argv.slice(2), { from: 'user' });
    return code;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    return cause.exitCode === 0 ? 0 : 2;
  }
}

// Writing to a closed terminal fails, which is no reason to exit.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

/** Runs a program in the Node of this single executable: `sample PROGRAM ...` (agent/simulated/sample.ts). */
function runInside(program: string): void {
  process.argv.splice(1, 3, program);
  createRequire(program)(program);
}

const [, , word, program] = process.argv;
if (isSea() && word === 'sample' && program !== undefined) runInside(program);
else
  void main().then(code => {
    process.exitCode = code;
  });
