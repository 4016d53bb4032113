import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { cleanLine } from '../../protocol/text.ts';
import { pause } from '../retry/retry.ts';
import { machineUptime, systemClock } from '../clock.ts';
import { loadAgentConfig } from '../config/index.ts';
import { doctorCommand } from './doctor-command.ts';
import { serviceCommands } from './service-command.ts';
import { updateCommand } from './update-command.ts';
import { type Host, runWorker } from '../worker.ts';
import { givenFlags, withWorkerOptions } from './worker-flags.ts';
import { runGuard } from '../guard/guard.ts';
import { ownProcesses } from '../process/own-processes.ts';
import { reasonOf } from '../files/failure-text.ts';

export interface WorkerInvocation extends Omit<Host, 'log' | 'onInputEnd'> {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly exit: (code: number) => void;
}

const exitCodes = { failed: 1, usage: 2 } as const;

/** The command `trainyard worker`. The program that is bundled for rigs has only this command. */
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
        return exit(exitCodes.usage);
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
    .description('Guard a training process; the worker starts this itself')
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

interface SelftestPorts {
  readonly print: (line: string) => void;
  readonly wait: (ms: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, for noise in the loss curve. */
  readonly random: () => number;
}

const stepsPerSecond = 10;
const defaultSeconds = 10;

/**
 * Runs a trainer that trains nothing, to test the path of a job through a fleet. Prints progress like a real trainer, for
 * the time in the config's field `seconds`, by default ten seconds. Returns an exit code.
 * @internal
 */
export async function runSelftest(configPath: string | null, ports: SelftestPorts): Promise<number> {
  const seconds = configPath === null ? defaultSeconds : secondsOf(configPath);
  const total = Math.max(1, Math.round(seconds * stepsPerSecond));
  for (let step = 1; step <= total; step += 1) {
    await ports.wait(1000 / stepsPerSecond);
    const loss = Math.exp((-3 * step) / total) * (1 + 0.1 * (ports.random() - 0.5));
    ports.print(
      JSON.stringify({
        type: 'progress',
        step,
        total_steps: total,
        loss: Number(loss.toFixed(4)),
        steps_per_second: stepsPerSecond,
      }),
    );
  }
  ports.print('self-test done: the fleet can run jobs on this worker');
  return 0;
}

function secondsOf(configPath: string): number {
  const config: unknown = JSON.parse(readFileSync(configPath, 'utf8'));
  const seconds =
    typeof config === 'object' && config !== null && 'seconds' in config ? config.seconds : undefined;
  return typeof seconds === 'number' && seconds > 0 && seconds <= 3600 ? seconds : defaultSeconds;
}

interface GuardInvocation extends Pick<Host, 'env' | 'onSignal'> {
  readonly err: (text: string) => void;
}

/** Runs the guard of the run in this folder. The agent that started this process reads its error output. @internal */
export async function runGuardCommand(
  folder: string,
  { env, onSignal, err }: GuardInvocation,
): Promise<number> {
  try {
    return await runGuard({
      run: { path: folder },
      env,
      onSignal,
      pid: process.pid,
      processes: ownProcesses(env),
      clock: systemClock,
      uptime: machineUptime,
    });
  } catch (cause) {
    err(`${reasonOf(cause)}\n`);
    return exitCodes.failed;
  }
}
