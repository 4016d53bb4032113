import { z } from 'zod';
import { call } from './call.ts';
import { JobId, WorkerId } from './ids.ts';
import { WorkerStatus } from './worker.ts';

const HealthStatus = z
  .enum(['healthy', 'degraded', 'unhealthy'])
  .describe('State of health; `degraded` works with restrictions.');

const HealthComponent = z
  .object({
    name: z
      .enum(['database', 'disk', 'clock', 'health_loop', 'workers', 'backup'])
      .describe('Name of the component.'),
    status: HealthStatus,
    message: z.string().describe('State of the component as a sentence.'),
    latency_ms: z
      .number()
      .nullable()
      .describe('Duration of the check in milliseconds; null when nothing was measured.'),
  })
  .meta({ id: 'HealthComponent', description: 'Health of one component.' });
export type HealthComponent = Readonly<z.output<typeof HealthComponent>>;

export const HealthReport = z
  .object({
    status: HealthStatus.describe('The worst status of all components.'),
    version: z.string().describe('Version of the program.'),
    uptime_seconds: z.number().describe('Seconds since the server started.'),
    timestamp: z.iso.datetime().describe('Time of the report, in UTC.'),
    components: z.array(HealthComponent).describe('State of each component.'),
  })
  .meta({ id: 'HealthReport', description: 'Health of the server.' });
export type HealthReport = z.output<typeof HealthReport>;

const GpuNumbers = z.array(z.number());

const GpuAllocation = z
  .object({
    allocated_gpus: GpuNumbers.describe("GPU numbers on the orchestrator's own machine."),
    available_gpus: GpuNumbers.describe(
      'GPU numbers that a new job could use. Empty while the machine is busy or accepts no jobs.',
    ),
    running_local_jobs: z.number().describe("Number of live jobs on the orchestrator's own machine."),
    devices: z
      .array(
        z.object({
          index: z.number().describe('Number of the GPU, starting at 0.'),
          name: z.string().nullable().describe('Model name of the GPU; null when unknown.'),
          memory_gb: z.number().nullable().describe('Memory in GiB; null when unknown.'),
          allocated: z.boolean().describe('Whether a job uses the GPU.'),
          job_id: JobId.nullable().describe('Job that uses the GPU; null for none.'),
        }),
      )
      .describe("GPUs of the orchestrator's own machine."),
    workers: z
      .array(
        z.object({
          worker_id: WorkerId,
          name: z.string().describe('Name of the worker.'),
          local: z.boolean().describe("Whether it is the orchestrator's own machine."),
          status: WorkerStatus,
          job_id: JobId.nullable().describe('Job on the worker; null for none.'),
          total_gpus: z.number().describe('Number of GPUs of the worker.'),
          allocated_gpus: GpuNumbers.describe('GPU numbers that its job uses.'),
          available_gpus: GpuNumbers.describe('GPU numbers that a new job could use.'),
        }),
      )
      .optional()
      .describe(
        "All workers, including the orchestrator's own machine. Only for tokens with `admin.workers`.",
      ),
  })
  .meta({ id: 'GpuAllocation', description: 'Which jobs use which GPUs.' });
export type GpuAllocation = z.output<typeof GpuAllocation>;

export const SystemStatus = z
  .object({
    timestamp: z.number().describe('Time of the figures, in seconds since 1970-01-01 UTC.'),
    uptime_seconds: z.number().describe('Seconds since the server started.'),
    load_avg_5min: z
      .number()
      .nullable()
      .describe('Load average of the last five minutes. Null on Windows, which has no load average.'),
    memory_percent: z.number().describe('Memory in use in percent.'),
    gpus: z
      .array(
        z.object({
          index: z.number().describe('Number of the GPU, starting at 0.'),
          name: z.string().nullable().describe('Model name of the GPU; null when unknown.'),
          backend: z.string().nullable().describe('Kind of accelerator, such as `cuda`; null when unknown.'),
          utilization_percent: z
            .number()
            .nullable()
            .describe(
              'Load in percent; null when unknown, as with several GPUs and an agent that reports one figure for all of them.',
            ),
          memory_percent: z.number().nullable().describe('GPU memory in use in percent; null when unknown.'),
        }),
      )
      .describe('GPUs of the machine.'),
    gpu_inventory: z
      .object({
        backend: z.string().nullable().describe('Kind of accelerator, such as `cuda`; null when unknown.'),
        count: z.number().describe('Number of GPUs.'),
        capabilities: z
          .object({
            driver: z.string().nullable().describe('Version of the GPU driver; null when unknown.'),
            vram_gb: z.number().nullable().describe('Memory of the smallest GPU, in GiB; null when unknown.'),
          })
          .describe('Driver and memory of the GPUs.'),
      })
      .describe('Summary of the GPUs.'),
    gpu_allocation: GpuAllocation.optional().describe('GPUs by job; only with `include_allocation=true`.'),
  })
  .meta({
    id: 'SystemStatus',
    description: "The orchestrator's own machine and its GPUs, with SimpleTuner's field names.",
  });
export type SystemStatus = z.output<typeof SystemStatus>;

/** Health of the server and its machine, at the same paths as in SimpleTuner. */
export const healthApi = {
  report: call({
    method: 'GET',
    path: '/api/cloud/health',
    authority: 'queue.view',
    own: 'refused',
    summary: 'Check the database, disk, clock, health loop, workers and backups',
    query: z.object({
      include_providers: z
        .stringbool()
        .default(false)
        .describe("Accepted for SimpleTuner's clients and ignored: the report always includes the workers."),
    }),
    reply: HealthReport,
  }),
  live: call({
    method: 'GET',
    path: '/api/cloud/health/live',
    authority: 'open',
    summary: 'Confirm that the process answers, at the path of SimpleTuner',
    reply: z.object({ status: z.literal('ok').describe('Always `ok`.') }),
  }),
  ready: call({
    method: 'GET',
    path: '/api/cloud/health/ready',
    authority: 'open',
    summary: 'Report whether the server accepts changes, at the path of SimpleTuner; 503 when it does not',
    reply: z.object({ status: z.literal('ready').describe('Always `ready`.') }),
  }),
  status: call({
    method: 'GET',
    path: '/api/system/status',
    authority: 'queue.view',
    own: 'refused',
    summary: "Show load, memory and GPUs of the server's own machine, and which jobs use which GPUs",
    query: z.object({
      include_allocation: z
        .stringbool()
        .default(false)
        .describe('Whether to add `gpu_allocation` to the response.'),
    }),
    reply: SystemStatus,
  }),
};
