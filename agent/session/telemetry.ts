import type { HeartbeatBody } from '../../protocol/worker-api.ts';
import type { GpuTrouble } from '../../protocol/worker.ts';
import { type GpuReport, probeUtilisation, type RunCommand } from '../gpu/probe.ts';
import { createGpuWatch, type GpuWatch, type GpuWatchDeps } from '../gpu/watch.ts';

export interface Telemetry extends Pick<HeartbeatBody, 'gpu_utilization' | 'vram_used_gb'> {
  /** Missing when the GPUs are not watched. */
  readonly gpu_troubles?: readonly GpuTrouble[];
}

/** The functions of the GPU watch that a probe uses. */
type Watch = Pick<GpuWatch, 'noteCards' | 'checkIfDue' | 'troubles'>;

export interface TelemetryBook {
  /** Returns the results of the last probe. Starts the next probe, and does not wait for it. */
  latest(): Telemetry;
  /** Waits for a probe, so that the first registration includes GPU troubles. */
  probe(): Promise<void>;
}

/**
 * Probes the GPUs, with at most one probe at a time. A hanging driver does not delay heartbeats.
 *
 * @internal
 */
export function createTelemetry(run: RunCommand, report: GpuReport, watch: Watch): TelemetryBook {
  let figures: Telemetry = {};
  let probing: Promise<void> | null = null;
  const probeOnce = async (): Promise<void> => {
    const { gpus, cards } = await probeUtilisation({ run, report });
    if (cards !== undefined) watch.noteCards(cards);
    figures = {
      gpu_utilization: mean(gpus.flatMap(gpu => gpu.utilizationPercent ?? [])),
      vram_used_gb: sum(gpus.flatMap(gpu => gpu.vramUsedGb ?? [])),
    };
    await watch.checkIfDue();
  };
  const probe = (): Promise<void> => {
    if (report.accelerator !== 'cuda' && report.accelerator !== 'rocm') return Promise.resolve();
    probing ??= probeOnce().finally(() => {
      probing = null;
    });
    return probing;
  };
  return {
    probe,
    latest() {
      void probe();
      return { ...figures, gpu_troubles: watch.troubles() };
    },
  };
}

/** Resolves after the first probes, when existing GPU troubles are known. */
export async function openTelemetry(
  deps: GpuWatchDeps,
): Promise<{ readonly watch: GpuWatch; readonly telemetry: TelemetryBook }> {
  const watch = createGpuWatch(deps);
  const telemetry = createTelemetry(deps.run, deps.report, watch);
  await telemetry.probe();
  await watch.confirmSuspects();
  return { watch, telemetry };
}

const sum = (figures: readonly number[]): number | undefined =>
  figures.length === 0 ? undefined : figures.reduce((total, figure) => total + figure, 0);

function mean(figures: readonly number[]): number | undefined {
  const total = sum(figures);
  return total === undefined ? undefined : Math.round(total / figures.length);
}
