import type { HeartbeatBody } from '../../protocol/worker-api.ts';
import { maxGpuFigures } from '../../protocol/reports.ts';
import type { GpuFigures, GpuTrouble } from '../../protocol/worker.ts';
import { type GpuReport, probeUtilisation, type RunCommand, type UtilisationReport } from '../gpu/probe.ts';
import { createGpuWatch, type GpuWatch, type GpuWatchDeps } from '../gpu/watch.ts';

export interface Telemetry extends Pick<HeartbeatBody, 'gpu_utilization' | 'vram_used_gb'> {
  /** Missing when the GPUs report no figures. */
  readonly gpu_figures?: readonly GpuFigures[];
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
    figures = telemetryFrom(gpus);
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

/** Returns the figures of each GPU, and the mean load and total memory for orchestrators that read only those. */
function telemetryFrom(gpus: UtilisationReport['gpus']): Telemetry {
  const each = gpus.map(toFigures);
  const usedGb = sum(each.flatMap(gpu => gpu.vram_used_gb ?? []));
  return {
    gpu_utilization: mean(each.flatMap(gpu => gpu.utilization ?? [])),
    vram_used_gb: usedGb === undefined ? undefined : round(usedGb),
    ...(each.some(hasFigure) && { gpu_figures: each.slice(0, maxGpuFigures) }),
  };
}

const toFigures = (gpu: UtilisationReport['gpus'][number]): GpuFigures => ({
  index: gpu.index,
  utilization: gpu.utilization ?? null,
  vram_used_gb: gpu.memory_mb === undefined ? null : round(gpu.memory_mb / 1024),
  temperature_c: gpu.temperature_c ?? null,
  power_w: gpu.power_w ?? null,
  power_limit_w: gpu.power_limit_w ?? null,
});

const hasFigure = (figures: GpuFigures): boolean =>
  Object.entries(figures).some(([name, value]) => name !== 'index' && value !== null);

/** Rounds to two places. */
const round = (value: number): number => Math.round(value * 100) / 100;

const sum = (figures: readonly number[]): number | undefined =>
  figures.length === 0 ? undefined : figures.reduce((total, figure) => total + figure, 0);

function mean(figures: readonly number[]): number | undefined {
  const total = sum(figures);
  return total === undefined ? undefined : Math.round(total / figures.length);
}
