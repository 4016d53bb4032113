import type { RegistrationBody } from '../../protocol/worker-api.ts';
import type { AgentConfig } from '../config/index.ts';
import { nameOfChoice, type ProbedTrainer } from '../trainers/index.ts';
import type { GpuReport } from '../gpu/report.ts';

/** Builds the body of a registration: who the worker is, and what its machine has. */
export function introductionOf(
  config: Pick<AgentConfig, 'name' | 'persistent' | 'labels' | 'allowedConfigKeys' | 'bring'>,
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
    outputs: { upload: config.bring, command_has_output_dir: commandHasOutputDir(trainers) },
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
