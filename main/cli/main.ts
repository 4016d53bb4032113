import { runCli } from './program.ts';
import { onceClosed, processTerminal } from './terminal.ts';

const readersLeft = new Set<() => void>();
onceClosed(process.stdout, () => {
  for (const act of readersLeft) act();
});
onceClosed(process.stderr, () => undefined);

// Ignore write errors of a closed terminal, so that the program does not end because of them.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  terminal: processTerminal(process.env),
  ownCommand: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
  onSignal: (signal, act) => void process.on(signal, act),
  onClosedPipe: act => void readersLeft.add(act),
});
