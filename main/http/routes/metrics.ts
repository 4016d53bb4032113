import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { GpuTroubleKind } from '../../../protocol/worker.ts';
import type { FleetFigures } from '../../orchestrator/index.ts';

export interface Metrics {
  /** Counts an answered request. `route` is the path with the names of its parameters. `seconds` is the duration. */
  noteCall(method: string, route: string, status: number, seconds: number): void;
  /** Returns the metrics in Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsDeps {
  readonly version: string;
  readonly figures: () => FleetFigures;
}

/** Limits of the histogram's buckets, in seconds: from responses without disk access to responses that wait for a slow disk. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Collects metrics for Prometheus: metrics of the process under the names that dashboards for Node expect, and metrics of the
 * fleet.
 */
export function createMetrics({ version, figures }: MetricsDeps): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let isWatching = false;
  /**
   * Starts to collect metrics of the process. Measuring the event loop delay wakes the process a hundred times a second. The
   * collection starts only with the first request for metrics, so that a server without Prometheus can idle.
   */
  const watchProcess = (): void => {
    if (isWatching) return;
    isWatching = true;
    collectDefaultMetrics({ register: registry });
  };
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: `trainyard_${name}`, help, labelNames: [...labelNames], registers });
  gauge('build_info', 'The running version', ['version']).set({ version }, 1);
  const workers = gauge('workers', 'Workers by status', ['status']);
  const quarantined = gauge(
    'workers_quarantined',
    'Workers that get no jobs, because several jobs could not start there',
  );
  const troubles = gauge('worker_gpu_troubles', 'GPU troubles that workers have last reported', ['kind']);
  const gpus = gauge('gpus', 'GPUs of connected workers', ['state']);
  const jobs = gauge('jobs', 'Stored jobs by status', ['status']);
  const wait = gauge('queue_oldest_wait_seconds', 'Wait of the oldest pending job');
  const paused = gauge('queue_paused', '1 while the queue is paused');
  const streams = gauge('worker_streams', 'Open streams to workers');
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Answered requests',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, without streams',
    labelNames: ['method', 'route'],
    buckets,
    registers,
  });

  const updateGauges = (): void => {
    const current = figures();
    for (const status of workerStatuses) workers.set({ status }, current.workers[status] ?? 0);
    for (const status of jobStatuses) jobs.set({ status }, current.jobs[status] ?? 0);
    quarantined.set(current.quarantined);
    for (const kind of GpuTroubleKind.options) troubles.set({ kind }, current.gpuTroubles[kind]);
    gpus.set({ state: 'busy' }, current.gpus.busy);
    gpus.set({ state: 'free' }, current.gpus.total - current.gpus.busy);
    wait.set((current.oldestWaitMs ?? 0) / 1000);
    paused.set(current.isPaused ? 1 : 0);
    streams.set(current.streams);
  };
  return {
    noteCall(method, route, status, seconds) {
      requests.inc({ method, route, status });
      durations.observe({ method, route }, seconds);
    },
    text() {
      watchProcess();
      updateGauges();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

const workerStatuses = ['connecting', 'idle', 'busy', 'draining', 'offline'] as const;
const jobStatuses = [
  'pending',
  'dispatched',
  'starting',
  'running',
  'recovering',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
] as const;
