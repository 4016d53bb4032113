import type { RegistrationBody } from '../protocol/worker-api.ts';
import { type Agent, createAgent } from './agent.ts';
import { createApiClient } from './api-client.ts';
import { systemClock } from './clock.ts';
import { followStream } from './command-stream.ts';
import type { AgentConfig } from './config.ts';
import {
  createRunCommand,
  type GpuReport,
  probeGpus,
  selectGpus,
  trainerGpuEnvironment,
} from './gpu-probe.ts';
import { startRun } from './run.ts';
import { openStateFolder, type StateFolder } from './state-folder.ts';
import { createTelemetry } from './telemetry.ts';
import { trustCertificates } from './tls.ts';
import { openToken, type TokenHolder } from './token-holder.ts';
import { missingTrainer, prepareJob, type Rig } from './trainer.ts';

export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** This program's own command line up to its `selftest` command. */
  readonly ownCommand: readonly string[];
  readonly version: string;
  /** One line for people. */
  readonly say: (message: string) => void;
  readonly onSignal: (signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', act: () => void) => void;
}

const exitCodes = { unusable: 1, usage: 2 } as const;

/** Runs the worker from its settings to its exit code. */
export async function runWorker(config: AgentConfig, host: Host): Promise<number> {
  const { say } = host;
  const token = openToken(config.token);
  if (!token.ok) {
    say(token.message);
    return exitCodes.usage;
  }
  const trusted = trust(config);
  if (trusted !== null) {
    say(trusted);
    return exitCodes.usage;
  }
  const run = createRunCommand({ environment: host.env });
  const { platform, arch } = process;
  const probed = await probeGpus({ run, platform, arch, environment: host.env });
  const chosen =
    config.gpus === null ? { ok: true as const, report: probed } : selectGpus(probed, config.gpus);
  if (!chosen.ok) {
    say(chosen.message);
    return exitCodes.usage;
  }
  const { report } = chosen;
  const rig = rigOf(config, host, report);
  for (const line of firstWords(config, rig, report)) say(line);
  const state = openState(config.stateDir, say);
  if (state === null) return exitCodes.unusable;
  const agent = createAgent({
    clock: systemClock,
    api: createApiClient({ url: config.orchestratorUrl, token: token.value.current }),
    followStream,
    url: config.orchestratorUrl,
    token: token.value,
    persistent: config.persistent,
    introduction: introductionOf(config, host.version, report),
    state,
    jobs: {
      prepare: offer => prepareJob(offer, rig),
      start: startRun,
      onLine: config.verbose ? line => say(`| ${line}`) : () => {},
    },
    telemetry: createTelemetry(run, report),
    random: Math.random,
    say,
  });
  listen(host, agent, token.value);
  return agent.run();
}

/** The first signal lets the job end, the second one does not. */
function listen({ onSignal, say }: Host, agent: Agent, token: TokenHolder): void {
  let asked = false;
  const stop = (): void => {
    say(asked ? 'Stopping now' : 'Leaving when the job is done; a second signal stops it now');
    if (asked) agent.leaveNow();
    else agent.leave();
    asked = true;
  };
  onSignal('SIGTERM', stop);
  onSignal('SIGINT', stop);
  onSignal('SIGHUP', () => {
    if (token.reload()) say(`Took the new token from ${token.file}`);
  });
}

function rigOf(config: AgentConfig, host: Host, report: GpuReport): Rig {
  return {
    orchestratorUrl: config.orchestratorUrl,
    workDir: config.workDir,
    cwd: process.cwd(),
    trainer: config.trainer,
    selftest: config.selftest,
    ownCommand: host.ownCommand,
    gpuEnv: trainerGpuEnvironment(report),
    env: host.env,
  };
}

function firstWords(config: AgentConfig, rig: Rig, report: GpuReport): readonly string[] {
  const gpus = report.count === 0 ? 'no GPU' : `${report.name} (${report.count} in all)`;
  return [
    `Worker ${config.name}: ${gpus}; ${config.persistent ? 'stays between jobs' : 'leaves after one job'}`,
    ...[report.problem?.message, missingTrainer(rig)].filter(line => line !== undefined && line !== null),
    ...(config.verifyTls ? [] : ['TLS certificates are not checked (--ssl-no-verify): for tests only']),
  ];
}

/** Null when it can't be used, which has been said then. */
function openState(dir: string, say: Host['say']): StateFolder | null {
  try {
    return openStateFolder(dir);
  } catch (cause) {
    say(`The worker's state can't be kept: ${reason(cause)}. Make ${dir} writable, or set XDG_STATE_HOME`);
    return null;
  }
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Null when all is well. */
function trust(config: AgentConfig): string | null {
  try {
    trustCertificates(config.caFile, config.verifyTls);
    return null;
  } catch (cause) {
    return `--ca-file ${config.caFile}: ${reason(cause)}`;
  }
}

function introductionOf(config: AgentConfig, version: string, report: GpuReport): RegistrationBody {
  const gpus = report.gpus.map(({ index, name, vramGb }) => ({ index, name, vram_gb: vramGb ?? 0 }));
  return {
    name: config.name,
    persistent: config.persistent,
    labels: config.labels,
    agent_version: version,
    gpu_info: {
      name: report.name ?? null,
      vram_gb: report.vramGb ?? null,
      count: report.count,
      driver: report.driver ?? null,
      accelerator: report.accelerator,
      gpus,
    },
  };
}
