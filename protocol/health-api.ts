import { z } from 'zod';
import { call } from './call.ts';
import { JobId, WorkerId } from './ids.ts';
import { WorkerStatus } from './worker.ts';

const HealthStatus = z.enum(['healthy', 'degraded', 'unhealthy']);

const HealthComponent = z
  .object({
    name: z.enum(['database', 'disk', 'clock', 'health_loop', 'workers', 'backup']),
    status: HealthStatus,
    message: z.string(),
    /** Null when nothing was measured. */
    latency_ms: z.number().nullable(),
  })
  .meta({ id: 'HealthComponent' });
export type HealthComponent = Readonly<z.output<typeof HealthComponent>>;

export const HealthReport = z
  .object({
    /** The worst status of all components. */
    status: HealthStatus,
    version: z.string(),
    uptime_seconds: z.number(),
    timestamp: z.iso.datetime(),
    components: z.array(HealthComponent),
  })
  .meta({ id: 'HealthReport' });
export type HealthReport = z.output<typeof HealthReport>;

const GpuNumbers = z.array(z.number());

const GpuAllocation = z
  .object({
    /** GPU numbers on the orchestrator's own machine. */
    allocated_gpus: GpuNumbers,
    /** GPU numbers that a new job could use. Empty while the machine is busy or accepts no jobs. */
    available_gpus: GpuNumbers,
    running_local_jobs: z.number(),
    devices: z.array(
      z.object({
        index: z.number(),
        name: z.string().nullable(),
        memory_gb: z.number().nullable(),
        allocated: z.boolean(),
        job_id: JobId.nullable(),
      }),
    ),
    /** All workers, including the orchestrator's own machine. Only for tokens with `admin.workers`. */
    workers: z
      .array(
        z.object({
          worker_id: WorkerId,
          name: z.string(),
          local: z.boolean(),
          status: WorkerStatus,
          job_id: JobId.nullable(),
          total_gpus: z.number(),
          allocated_gpus: GpuNumbers,
          available_gpus: GpuNumbers,
        }),
      )
      .optional(),
  })
  .meta({ id: 'GpuAllocation' });
export type GpuAllocation = z.output<typeof GpuAllocation>;

/** The orchestrator's own machine and its GPUs, with SimpleTuner's field names. */
export const SystemStatus = z
  .object({
    /** Seconds since 1970-01-01 UTC. */
    timestamp: z.number(),
    uptime_seconds: z.number(),
    /** Null on Windows, which has no load average. */
    load_avg_5min: z.number().nullable(),
    memory_percent: z.number(),
    gpus: z.array(
      z.object({
        index: z.number(),
        name: z.string().nullable(),
        backend: z.string().nullable(),
        /** Null on machines with several GPUs, because the agent reports one figure for all. */
        utilization_percent: z.number().nullable(),
        memory_percent: z.number().nullable(),
      }),
    ),
    gpu_inventory: z.object({
      backend: z.string().nullable(),
      count: z.number(),
      capabilities: z.object({ driver: z.string().nullable(), vram_gb: z.number().nullable() }),
    }),
    /** Only with `include_allocation=true`. */
    gpu_allocation: GpuAllocation.optional(),
  })
  .meta({ id: 'SystemStatus' });
export type SystemStatus = z.output<typeof SystemStatus>;

/** Health of the server and its machine, at SimpleTuner's paths. */
export const healthApi = {
  report: call({
    method: 'GET',
    path: '/api/cloud/health',
    authority: 'queue.view',
    own: 'refused',
    summary: 'Check the database, disk, clock, health loop, workers and backups',
    /**
     * `include_providers` exists for SimpleTuner's clients. This server's providers are its workers, which are always checked.
     */
    query: z.object({ include_providers: z.stringbool().default(false) }),
    reply: HealthReport,
  }),
  live: call({
    method: 'GET',
    path: '/api/cloud/health/live',
    authority: 'open',
    summary: 'Confirm that the process answers, at the path of SimpleTuner',
    reply: z.object({ status: z.literal('ok') }),
  }),
  ready: call({
    method: 'GET',
    path: '/api/cloud/health/ready',
    authority: 'open',
    summary: 'Report whether the server accepts changes, at the path of SimpleTuner; 503 when it does not',
    reply: z.object({ status: z.literal('ready') }),
  }),
  status: call({
    method: 'GET',
    path: '/api/system/status',
    authority: 'queue.view',
    own: 'refused',
    summary: "Show load, memory and GPUs of the server's own machine, and which jobs hold which GPUs",
    query: z.object({ include_allocation: z.stringbool().default(false) }),
    reply: SystemStatus,
  }),
};
