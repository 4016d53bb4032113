import type { CallFailure } from '../../protocol/client.ts';
import type { RegisterReply, RegistrationBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import type { Registrations } from '../state/state-folder.ts';
import { decide, loopWaits, policyOf } from '../retry/decisions.ts';
import { createBackoff, pause, retry, type RetryAnswer } from '../retry/retry.ts';
import type { TokenHolder } from './worker-token.ts';
import { explainFailure } from '../connection/connection-warnings.ts';
import type { AgentConfig } from '../config/index.ts';
import { nameOfChoice, type ProbedTrainer } from '../trainers/index.ts';
import type { GpuReport } from '../gpu/report.ts';

export interface RegisterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'register'>;
  readonly url: string;
  readonly token: TokenHolder;
  readonly registrations: Registrations;
  readonly random: () => number;
  readonly log: (message: string) => void;
  readonly onTrouble: (failure: CallFailure) => void;
  /** Called when another machine is registered as this worker. Send no more calls in the worker's name. */
  readonly onDuplicate: () => void;
}

export type Registered =
  | { readonly kind: 'registered'; readonly reply: RegisterReply }
  /** The token is invalid. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** The orchestrator refuses the registration permanently. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'aborted' };

const ownTokenDead =
  'Invalid token: the token with which this worker joined is no longer valid. It was rotated, another machine joined as this ' +
  'worker, or the worker was deleted. On the orchestrator, make a new join command, and start this worker with it';

/**
 * Registers the worker, and retries until the orchestrator accepts or permanently refuses the registration. When a token is
 * rejected, the worker reads its token file again. If an orchestrator has accepted this worker before, the worker waits
 * for a new token in the file. The new token can be late, because an admin must rotate the token first.
 */
export function createRegister(deps: RegisterDeps) {
  const { clock, api, url, token, registrations, random, log, onTrouble } = deps;
  let count = 0;

  const awaitNewToken = async (signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff(loopWaits.tokenFile);
    log(
      `The orchestrator rejected the token. It was probably rotated: waiting for a new one in ${token.file}`,
    );
    while (await pause(clock, backoff.nextMs(), signal)) if (token.reload()) return;
  };

  /** Registers once, and again with each new token. */
  const send = async (
    introduction: () => RegistrationBody,
    signal: AbortSignal,
  ): Promise<RetryAnswer<Registered, CallFailure>> => {
    while (!signal.aborted) {
      const ready = await token.ready(signal);
      if (ready.kind === 'aborted') break;
      if (ready.kind !== 'ready') {
        if (!registrations.hasAny()) return { ok: true, value: ready };
        // The current token may still be valid; if not, its rejection says what to do.
        log(ready.message);
        continue;
      }
      const result = await api.register({ ...introduction(), registration_no: ++count });
      if (result.ok) {
        registrations.record();
        return { ok: true, value: { kind: 'registered', reply: result.value } };
      }
      if (signal.aborted || decide('register', result.failure) !== 'token') return result;
      if (token.reload()) continue;
      if (token.file === null || !registrations.hasAny()) return result;
      await awaitNewToken(signal);
    }
    return { ok: true, value: { kind: 'aborted' } };
  };

  return async (introduction: () => RegistrationBody, signal: AbortSignal): Promise<Registered> => {
    const end = await retry(() => send(introduction, signal), {
      ...policyOf('register'),
      clock,
      random,
      signal,
      onFailure(failure, decision) {
        if (signal.aborted) return;
        if (decision === 'seldom') deps.onDuplicate();
        if (decision === 'seldom' || decision === 'retry') onTrouble(failure);
      },
    });
    if (end.kind === 'done') return end.value;
    if (end.kind === 'aborted' || signal.aborted) return { kind: 'aborted' };
    const message = explainFailure(end.failure, url);
    if (end.decision === 'stop') return { kind: 'refused', message };
    return { kind: 'rejected', message: token.isOwn() ? ownTokenDead : message };
  };
}

/** Builds the body of a registration: who the worker is, and what its machine has. */
export function introductionOf(
  config: Pick<AgentConfig, 'name' | 'persistent' | 'labels' | 'allowedConfigKeys' | 'upload'>,
  version: string,
  report: GpuReport,
  trainers: readonly ProbedTrainer[],
): RegistrationBody {
  const gpus = report.gpus.map(({ index, name, vramGb }) => ({ index, name, vram_gb: vramGb ?? 0 }));
  return {
    name: config.name,
    persistent: config.persistent,
    labels: config.labels,
    agent_version: version,
    allowed_config_keys: [...config.allowedConfigKeys],
    trainers: trainers.filter(({ problem }) => problem === null).flatMap(offersOf),
    outputs: { upload: config.upload, command_has_output_dir: commandHasOutputDir(trainers) },
    gpu_count: report.count,
    gpu_name: report.name ?? null,
    gpu_vram_gb: report.vramGb ?? null,
    accelerator_type: report.accelerator,
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

const offersOf = ({
  choice,
  version,
}: ProbedTrainer): readonly { readonly name: string; readonly version: string | null }[] => [
  { name: nameOfChoice(choice), version },
  ...(choice.kind === 'command' && choice.takesAll ? [{ name: 'any', version: null }] : []),
];

/** Whether the owner's trainer command uses the output folder; null when there is no such command. */
function commandHasOutputDir(trainers: readonly ProbedTrainer[]): boolean | null {
  const command = trainers.map(({ choice }) => choice).find(choice => choice.kind === 'command');
  return command === undefined ? null : command.argv.some(word => word.includes('{output_dir}'));
}
