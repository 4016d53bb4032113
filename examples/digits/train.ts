import { runCommand } from './command.ts';
import { findDestination } from './upload.ts';

const stop = new AbortController();
// Use `once`, so that a second SIGTERM ends the process immediately.
process.once('SIGTERM', () => stop.abort());

let isSaveRequested = false;
process.on('SIGUSR1', () => {
  isSaveRequested = true;
});
const consumeSaveRequest = (): boolean => {
  const wasRequested = isSaveRequested;
  isSaveRequested = false;
  return wasRequested;
};

// Do not use a top-level await, because a single executable cannot load such a module.
void runCommand(process.argv.slice(2), {
  print: line => process.stdout.write(`${line}\n`),
  printError: line => process.stderr.write(`${line}\n`),
  now: () => performance.now(),
  stop: stop.signal,
  destination: findDestination(process.env),
  consumeSaveRequest,
}).then(code => {
  process.exitCode = code;
});
