import { shellWord } from '../../../protocol/join-line.ts';
import type { ProgramResult, RunProgram } from '../run-program.ts';
import { tokenVariable } from '../start-script.ts';

export interface SlurmCall {
  readonly timeoutMs: number;
  readonly stdin?: string;
  /** The join token, which is passed in an environment variable, never as an argument. */
  readonly token?: string;
}

/** Runs one of Slurm's commands, on this machine or on the login machine. */
export type SlurmCommand = (argv: readonly string[], call: SlurmCall) => Promise<ProgramResult>;

/**
 * Environment variables that change the output or the selection of Slurm's commands. For example, a user's `SQUEUE_STATES` would
 * hide jobs.
 */
const changingVariables = [
  ['SQUEUE', 'ACCOUNT ALL ARRAY FEDERATION FORMAT FORMAT2 LICENSES LOCAL NAMES PARTITION PRIORITY'],
  ['SQUEUE', 'QOS SIB SIBLING SORT STATES USERS'],
  ['SCANCEL', 'ACCOUNT BATCH CRON CTLD FULL HURRY INTERACTIVE NAME PARTITION QOS STATE USER VERBOSE WCKEY'],
  ['SINFO', 'ALL FEDERATION FORMAT LOCAL PARTITION SORT'],
  ['SBATCH', 'ARRAY_INX WAIT'],
].flatMap(([command = '', names = '']) => names.split(' ').map(name => `${command}_${name}`));

/** Value of SLURM_TIME_FORMAT that makes Slurm print times as seconds since 1970. */
const timeFormat = '%s';

export function createSlurmCommand(run: RunProgram, login: string | null): SlurmCommand {
  if (login !== null) return overSsh(run, login);
  const cleared = Object.fromEntries(changingVariables.map(name => [name, undefined]));
  return (argv, { timeoutMs, stdin, token }) =>
    run(argv, {
      env: { ...cleared, SLURM_TIME_FORMAT: timeFormat, [tokenVariable]: token },
      timeoutMs,
      ...(stdin !== undefined && { stdin }),
    });
}

/**
 * Runs commands over ssh. sshd passes the command line to the user's login shell. Arguments are in single quotes, which mean the
 * same in all shells. The token is the first line of stdin. `read` consumes only that line; the command gets the rest.
 */
function overSsh(run: RunProgram, login: string): SlurmCommand {
  const prepare =
    `unset ${changingVariables.join(' ')}; SLURM_TIME_FORMAT=${timeFormat}; export SLURM_TIME_FORMAT; ` +
    `IFS= read -r ${tokenVariable}; export ${tokenVariable}; exec "$0" "$@"`;
  const ssh = ['ssh', '-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15', '--', login];
  return (argv, { timeoutMs, stdin = '', token = '' }) =>
    run([...ssh, `exec sh -c ${[prepare, ...argv].map(shellWord).join(' ')}`], {
      timeoutMs,
      stdin: `${token}\n${stdin}`,
    });
}

/** Returns true if ssh failed before it ran anything on the login machine. Exit code 255 means that ssh itself failed. */
export const hasNotReachedLogin = ({ code, stderr }: ProgramResult): boolean =>
  code === 255 &&
  /^ssh: (?:connect to host|Could not resolve)|Permission denied|Host key verification failed|kex_exchange_identification|Too many authentication failures|Connection timed out during banner exchange|no matching (?:host key|cipher|key exchange|MAC)/m.test(
    stderr,
  );
