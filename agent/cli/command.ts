import { Command } from 'commander';
import { cleanLine } from '../../protocol/line.ts';
import { pause } from '../retry/backoff.ts';
import { systemClock } from '../clock.ts';
import { loadAgentConfig } from '../config/index.ts';
import { doctorCommand } from './doctor-command.ts';
import { runGuardCommand } from './guard-command.ts';
import { runSelftest } from './selftest.ts';
import { serviceCommands } from './service-command.ts';
import { updateCommand } from './update-command.ts';
import { type Host, runWorker } from '../worker.ts';
import { givenFlags, withWorkerOptions } from './worker-flags.ts';

export interface WorkerInvocation extends Omit<Host, 'log' | 'onInputEnd'> {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly exit: (code: number) => void;
}

const usageError = 2;

/** The command `trainyard worker`, which is also the whole program that is bundled for rigs. */
export function workerCommand(invocation: WorkerInvocation): Command {
  const { err, exit } = invocation;
  // Messages may contain text from the orchestrator or a trainer, so remove control characters.
  const log = (message: string): void => err(`${cleanLine(message)}\n`);
  const worker = withWorkerOptions(new Command('worker'))
    .description('Run training jobs on this machine')
    // Options after a subcommand belong to that subcommand.
    .enablePositionalOptions()
    .action(async (_options: unknown, command: Command) => {
      const flags = givenFlags(command);
      const config = loadAgentConfig(flags, invocation.env);
      if (!config.ok) {
        err(`${config.message}\n`);
        return exit(usageError);
      }
      if (flags['worker-token'] !== undefined) {
        err(
          'Warning: every user of this machine can see a token in the arguments. Use --worker-token-file\n',
        );
      }
      exit(await runWorker(config.value, { ...invocation, log, onInputEnd }));
    });
  const shared = { ...invocation, log };
  for (const command of [doctorCommand(shared), updateCommand(shared), ...serviceCommands(shared)])
    worker.addCommand(command);
  worker
    .command('selftest')
    .description('Simulate a training for ten seconds')
    .option('--config <file>', 'config of the job')
    .action(async (_options: unknown, command: Command) => {
      const { config } = command.opts<{ readonly config?: string }>();
      exit(await runSelftest(config ?? null, selftestPorts(invocation.out)));
    });
  worker
    .command('guard', { hidden: true })
    .description('Hold a training that the worker has started; for its own use')
    .argument('<folder>')
    .action(async (folder: string) => exit(await runGuardCommand(folder, invocation)));
  return worker;
}

const never = new AbortController().signal;
const selftestPorts = (out: (text: string) => void) => ({
  print: (line: string) => out(`${line}\n`),
  wait: (ms: number) => pause(systemClock, ms, never),
  random: Math.random,
});

/** Calls `act` when stdin ends or fails. Listening does not keep the process alive. */
function onInputEnd(act: () => void): void {
  const { stdin } = process;
  stdin.once('end', act);
  stdin.once('error', act);
  stdin.resume();
  stdin.unref();
}
