import { realpathSync } from 'node:fs';
import { Command } from 'commander';
import { type AgentConfig, loadAgentConfig } from '../config/index.ts';
import { createRunCommand } from '../gpu/probe.ts';
import { openNetwork } from '../connection/network.ts';
import { reasonOf } from '../files/failure-text.ts';
import { isInsecure, ownProgram } from '../update/program.ts';
import { updateProgram } from './update.ts';
import { givenFlags } from './worker-flags.ts';

export interface UpdateInvocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ownCommand: readonly string[];
  readonly log: (message: string) => void;
  readonly exit: (code: number) => void;
}

const exitCodes = { failed: 1, usage: 2 } as const;

/** `update`: replaces this program with the orchestrator's. */
export function updateCommand({ env, ownCommand, log, exit }: UpdateInvocation): Command {
  return new Command('update')
    .description("Replace this program with the orchestrator's version. Trainings continue")
    .option('--orchestrator-url <url>', 'URL of the orchestrator (default: $SIMPLETUNER_ORCHESTRATOR_URL)')
    .option('--pin <sha256:...>', 'trust only a server with this key; repeatable', collect)
    .option('--ca-file <file>', 'also trust this certificate authority (a PEM file)')
    .option('--ssl-no-verify', 'do not check TLS certificates; safe with --sums')
    .option('--sums <sha256>', 'accept only the program with this hash, as the panel shows it')
    .option('--config <file>', 'JSON file with values for the options of this command')
    .action(async (_options: unknown, command: Command) => {
      const { sums, ...flags } = givenFlags(command);
      const config = loadAgentConfig(flags, env);
      const program = programHere(ownCommand);
      if (!config.ok) {
        log(config.message);
        return exit(exitCodes.usage);
      }
      if (typeof program === 'string') {
        log(program);
        return exit(exitCodes.usage);
      }
      const risk = findRisk(config.value, sums);
      if (risk !== null) {
        log(risk);
        return exit(exitCodes.usage);
      }
      const { orchestratorUrl: url, trust } = config.value;
      const run = createRunCommand({ environment: env });
      const updated = await updateProgram({
        url,
        fetch: openNetwork(trust),
        own: program,
        sums: typeof sums === 'string' ? sums.toLowerCase() : null,
        async versionOf([file = '', ...args]) {
          const result = await run(file, [...args, '--version']);
          if (result.kind === 'exited' && result.code === 0) return result.stdout.trim();
          throw new Error(result.kind === 'exited' ? result.stderr.trim() : result.kind.replaceAll('_', ' '));
        },
      });
      if (updated.kind === 'failed') {
        log(`${updated.message}. Nothing was changed`);
        return exit(exitCodes.failed);
      }
      log(
        updated.kind === 'current'
          ? `${program.path} is up to date (version ${updated.version})`
          : `Updated ${program.path} to version ${updated.version}. A running worker uses the old version until it restarts: ` +
              'use "systemctl restart", or send SIGUSR2 and start it again. Trainings continue',
      );
      return exit(0);
    });
}

const collect = (pin: string, earlier: readonly string[] = []): readonly string[] => [...earlier, pin];

/** Returns this program's file, or a message when this command cannot replace it. */
function programHere(ownCommand: readonly string[]) {
  const refusal = 'This worker runs from its sources. To update it, run "git pull" and "npm ci" there';
  try {
    return ownProgram(ownCommand, realpathSync) ?? refusal;
  } catch (cause) {
    return `${refusal} (${reasonOf(cause)})`;
  }
}

/** Returns why an attacker on the network could replace the program; null when that is impossible. */
function findRisk({ orchestratorUrl: url, trust }: AgentConfig, sums: unknown): string | null {
  if (typeof sums === 'string')
    return /^[0-9a-f]{64}$/i.test(sums) ? null : '--sums needs the 64 hex digits that the panel shows';
  if (!isInsecure({ orchestratorUrl: url, trust })) return null;
  return (
    `The connection to ${url} is not secure, so an attacker could replace the program. Copy the command from the page of this worker ` +
    'in the panel, which has the expected hash (--sums), or use https:// with --pin'
  );
}
