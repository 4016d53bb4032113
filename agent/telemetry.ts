import type { HeartbeatBody } from '../protocol/worker-api.ts';
import { type GpuReport, probeUtilisation, type RunCommand } from './gpu-probe.ts';

export type Telemetry = Pick<HeartbeatBody, 'gpu_utilization' | 'vram_used_gb'>;

/**
 * How busy the GPUs are, as of a moment ago: asking for it starts the next look and does not wait for it, so that a
 * driver that hangs holds no heartbeat up.
 */
export function createTelemetry(run: RunCommand, report: GpuReport): () => Telemetry {
  let latest: Telemetry = {};
  let looking = false;
  const look = async (): Promise<void> => {
    const { gpus } = await probeUtilisation({ run, report });
    latest = {
      gpu_utilization: mean(gpus.flatMap(gpu => gpu.utilizationPercent ?? [])),
      vram_used_gb: sum(gpus.flatMap(gpu => gpu.vramUsedGb ?? [])),
    };
  };
  return () => {
    if (!looking && report.accelerator === 'cuda') {
      looking = true;
      void look().finally(() => {
        looking = false;
      });
    }
    return latest;
  };
}

const sum = (figures: readonly number[]): number | undefined =>
  figures.length === 0 ? undefined : figures.reduce((total, figure) => total + figure, 0);

function mean(figures: readonly number[]): number | undefined {
  const total = sum(figures);
  return total === undefined ? undefined : Math.round(total / figures.length);
}
