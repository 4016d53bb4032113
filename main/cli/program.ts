import { Command, CommanderError } from 'commander';
import { version } from '../../protocol/version.ts';
import { auditCommands } from './audit/index.ts';
import { backupCommands } from './backup/index.ts';
import { completeCommand } from './completion/complete.ts';
import { completionCommand } from './completion/index.ts';
import { configCommands } from './configs/index.ts';
import { demoCommand } from './demo.ts';
import { demoFleetCommand } from './demo-fleet/index.ts';
import { doctorCommand } from './doctor/index.ts';
import { exitCodes } from './failure.ts';
import type { Invocation } from './invocation.ts';
import { jobCommands } from './jobs/index.ts';
import { queueCommands } from './queue/index.ts';
import { commandGroup } from './remote-command.ts';
import { serverCommand } from './server.ts';
import { tokenCommands } from './tokens/index.ts';
import { localWorkerCommand } from './worker.ts';
import { versionCommand } from './version.ts';
import { workerCommands } from './workers/index.ts';

/** Runs the `trainyard` program; answers with its exit code. */
export async function runCli(argv: readonly string[], parts: Omit<Invocation, 'exit'>): Promise<number> {
  let code = 0;
  const program = createProgram({
    ...parts,
    exit: value => {
      code = value;
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    return cause.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}

function createProgram(invocation: Invocation): Command {
  const { out, err } = invocation.terminal;
  const program = new Command('trainyard')
    .description('Turns a workstation and some GPU boxes into one training fleet')
    .version(version)
    .enablePositionalOptions()
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 no right, 4 not found, 5 conflict, 6 unreachable,\n' +
        '7 refused, 8 the job that was waited for did not complete',
    )
    .showHelpAfterError('With --help it says what it takes')
    .configureOutput({ writeOut: out, writeErr: err })
    .exitOverride();
  const commands = [
    serverCommand(invocation),
    localWorkerCommand(invocation),
    commandGroup(invocation, 'workers', 'See and steer the workers', workerCommands),
    commandGroup(invocation, 'jobs', 'Submit, see and steer jobs', jobCommands),
    commandGroup(
      invocation,
      'configs',
      'See and change the configs that jobs are submitted by',
      configCommands,
    ),
    commandGroup(invocation, 'queue', 'See and steer the queue as a whole', queueCommands),
    commandGroup(invocation, 'audit', 'See what was done, and by whom', auditCommands),
    commandGroup(invocation, 'backup', 'Make and list backups of the database', backupCommands),
    commandGroup(invocation, 'tokens', 'Give people and scripts tokens of their own', tokenCommands),
    doctorCommand(invocation),
    versionCommand(invocation),
    completionCommand(invocation),
    demoCommand(invocation),
    demoFleetCommand(invocation),
  ];
  for (const command of commands) program.addCommand(command);
  program.addCommand(
    completeCommand(invocation, () => program),
    { hidden: true },
  );
  inherit(program);
  return program;
}

/** Commands of commands, too, answer with a code instead of ending the process. */
function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inherit(command);
  }
}
