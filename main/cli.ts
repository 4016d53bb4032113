#!/usr/bin/env node
import { runCli } from './cli/program.ts';

// A terminal that was closed takes no words any more; that is no reason to end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  terminal: {
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
  },
  ownCommand: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
  onSignal: (signal, act) => void process.on(signal, act),
});
