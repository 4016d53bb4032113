import type { RegistrationBody } from '../protocol/worker-api.ts';
import type { AgentConfig } from './config.ts';
import type { GpuReport } from './gpu-report.ts';

/** Who a worker says it is, and what its machine has. */
export function introductionOf(
  config: Pick<AgentConfig, 'name' | 'persistent' | 'labels' | 'allowedConfigKeys'>,
  version: string,
  report: GpuReport,
): RegistrationBody {
  const gpus = report.gpus.map(({ index, name, vramGb }) => ({ index, name, vram_gb: vramGb ?? 0 }));
  return {
    name: config.name,
    persistent: config.persistent,
    labels: config.labels,
    agent_version: version,
    allowed_config_keys: [...config.allowedConfigKeys],
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
