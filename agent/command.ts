import { Command } from 'commander';
import { cleanLine } from '../protocol/line.ts';
import { pause } from './backoff.ts';
import { systemClock } from './clock.ts';
import { loadAgentConfig } from './config.ts';
import { runGuardCommand } from './guard-command.ts';
import { runSelftest } from './selftest.ts';
import { updateCommand } from './update-command.ts';
import { type Host, runWorker } from './worker.ts';
import { givenFlags } from './worker-flags.ts';

export { findSample } from './sample.ts';

export interface WorkerInvocation extends Omit<Host, 'say' | 'onInputEnd'> {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly exit: (code: number) => void;
}

const usageError = 2;

/** `trainyard worker`, and the whole of the program that is bundled for rigs. */
export function workerCommand(invocation: WorkerInvocation): Command {
  const { err, exit } = invocation;
  // The orchestrator and trainers have a part in what is said.
  const say = (message: string): void => err(`${cleanLine(message)}\n`);
  const worker = new Command('worker')
    .description('Run training jobs of an orchestrator on this machine')
    // What stands behind a command of its own belongs to that command.
    .enablePositionalOptions()
    .option('--orchestrator-url <url>', 'where the orchestrator is (or SIMPLETUNER_ORCHESTRATOR_URL)')
    .option(
      '--worker-token <token>',
      'the token of this worker, or a join token (or SIMPLETUNER_WORKER_TOKEN)',
    )
    .option('--worker-token-file <file>', 'read the token from a file that only you can read')
    .option('--name <name>', "how this worker calls itself (default: the host's name)")
    .option('--persistent', 'stay between jobs (default: leave after one)')
    .option('--label <key=value>', 'a label for this worker; may be repeated', collect)
    .option('--gpus <list>', 'use only these GPUs, such as 0,1')
    .option('--work-dir <folder>', 'where jobs and their outputs are kept')
    .option('--state-dir <folder>', 'where the worker keeps what it must remember, its training included')
    .option(
      '--trainer <trainer>',
      'simpletuner, or a command with {config_path}, {output_dir} and {resume_from}; no shell',
    )
    .option('--leave-with-parent', 'leave when stdin ends, and let the training go on, as with SIGUSR2')
    .option('--no-selftest', 'refuse jobs that only test the fleet: the self-test, and the sample training')
    .option(
      '--pin <sha256:...>',
      'take a server for the orchestrator by its key alone, as the panel shows it; may be repeated',
      collect,
    )
    .option('--ca-file <file>', "trust this certificate authority, besides the system's own")
    .option('--ssl-no-verify', 'do not check TLS certificates: for tests only')
    .option('--config <file>', 'settings by the names of these flags, as JSON')
    .option('-v, --verbose', 'show what the trainer prints')
    .action(async (_options: unknown, command: Command) => {
      const flags = givenFlags(command);
      const config = loadAgentConfig(flags, invocation.env);
      if (!config.ok) {
        err(`${config.message}\n`);
        return exit(usageError);
      }
      if (flags['worker-token'] !== undefined) {
        err(
          'The token in the arguments can be seen by every user of this machine: --worker-token-file hides it\n',
        );
      }
      exit(await runWorker(config.value, { ...invocation, say, onInputEnd }));
    });
  worker.addCommand(updateCommand({ ...invocation, say }));
  worker
    .command('selftest')
    .description('Train nothing for ten seconds, with progress like the real thing')
    .option('--config <file>', 'the config of the job')
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

/** However it ends; and listening to it keeps no process. */
function onInputEnd(act: () => void): void {
  const { stdin } = process;
  stdin.once('end', act);
  stdin.once('error', act);
  stdin.resume();
  stdin.unref();
}

const collect = (pair: string, earlier: readonly string[] = []): readonly string[] => [...earlier, pair];
