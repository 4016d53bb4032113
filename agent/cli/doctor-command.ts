import { Command } from 'commander';
import { cleanLine } from '../../protocol/text.ts';
import { loadAgentConfig } from '../config/index.ts';
import { systemClock } from '../clock.ts';
import { createRunCommand, probeGpus, selectGpus } from '../gpu/probe.ts';
import { trainerProbe } from '../attempt/trainer.ts';
import { probeTrainers } from '../trainers/index.ts';
import { openNetwork } from '../connection/network.ts';
import { openProcessTable } from '../gpu/holders.ts';
import { reasonOf } from '../files/failure-text.ts';
import { openTelemetry } from '../session/telemetry.ts';
import type { Host } from '../worker.ts';
import { givenFlags, withWorkerOptions } from './worker-flags.ts';

export interface DoctorInvocation extends Pick<Host, 'env' | 'version' | 'log'> {
  readonly out: (text: string) => void;
  readonly exit: (code: number) => void;
}

const exitCodes = { done: 0, failed: 1, usage: 2 } as const;
const marks = { ok: 'ok', failed: 'FAILED', skipped: '-' } as const;

/** The command `doctor`, with the options of the worker that it checks. */
export function doctorCommand({ env, version, out, log, exit }: DoctorInvocation): Command {
  return withWorkerOptions(new Command('doctor'))
    .description('Check that a worker with these options can run here')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const { json, ...flags } = givenFlags(command);
      const config = loadAgentConfig(flags, env);
      if (!config.ok) {
        log(config.message);
        return exit(exitCodes.usage);
      }
      const run = createRunCommand({ environment: env });
      const { platform, arch } = process;
      // Imported here, because a running worker needs neither the checks nor the admin calls.
      const { examineWorker } = await import('./doctor.ts');
      const [gpus, trainers] = await Promise.all([
        probeGpus({ run, platform, arch, environment: env }),
        probeTrainers(config.value.trainers, trainerProbe(env)),
      ]);
      const chosen = selectGpus(gpus, config.value.gpus ?? gpus.gpus.map(({ index }) => index));
      const { watch } = await openTelemetry({
        run,
        report: chosen.ok ? chosen.report : gpus,
        clock: systemClock,
        table: openProcessTable(platform, config.value.workDir),
        log: () => {},
      });
      try {
        const findings = await examineWorker({
          config: config.value,
          fetch: openNetwork(config.value.trust),
          gpus,
          troubles: watch.troubles(),
          version,
          trainers,
        });
        const lines = findings.map(
          ({ what, result, detail }) => `${what.padEnd(14)}${marks[result].padEnd(8)}${cleanLine(detail)}`,
        );
        out(json === true ? `${JSON.stringify(findings)}\n` : `${lines.join('\n')}\n`);
        return exit(findings.some(({ result }) => result === 'failed') ? exitCodes.failed : exitCodes.done);
      } catch (cause) {
        log(`--ca-file ${config.value.trust.caFile}: ${reasonOf(cause)}`);
        return exit(exitCodes.usage);
      }
    });
}
