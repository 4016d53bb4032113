import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { Labels } from './labels.ts';
import { CleanLine } from './line.ts';

export const WorkerType = z.enum(['persistent', 'ephemeral']);
export type WorkerType = z.infer<typeof WorkerType>;

export const WorkerStatus = z.enum(['connecting', 'idle', 'busy', 'draining', 'offline']);
export type WorkerStatus = z.infer<typeof WorkerStatus>;

/** One GPU. `vram_gb` is GiB, rounded to the nominal size. */
export const Gpu = z.object({
  index: z.number().int().min(0).max(1023),
  name: z.string().max(200),
  vram_gb: z.number().min(0).max(1e6),
});
export type Gpu = Readonly<z.infer<typeof Gpu>>;

/**
 * `missing`: the GPU is absent or does not respond. `errors`: its memory has failed. `held`: a foreign process uses it.
 */
export const GpuTroubleKind = z.enum(['missing', 'errors', 'held']);
export type GpuTroubleKind = z.infer<typeof GpuTroubleKind>;

/** A problem with one GPU of a worker. `detail` describes the symptom and the remedy. */
export const GpuTrouble = z.object({
  gpu: Gpu.shape.index,
  kind: GpuTroubleKind,
  detail: z.string().max(200),
});
export type GpuTrouble = Readonly<z.infer<typeof GpuTrouble>>;

/** Whether a trouble of this kind prevents dispatch to the worker. */
export type HoldingBack = Readonly<Record<GpuTroubleKind, boolean>>;

/** Capabilities of a worker in normal form. `gpuVramGb` is that of its smallest GPU. */
export interface Capabilities {
  readonly gpuCount: number;
  readonly gpuName: string | null;
  readonly gpuVramGb: number | null;
  readonly accelerator: string | null;
  readonly driver: string | null;
  readonly gpus: readonly Gpu[];
}

/** Which outputs of trainers a worker uploads. */
export const UploadChoice = z.enum(['all', 'checkpoints', 'none']);

/** Facts that a worker reports about the outputs of its trainers. */
export interface OutputFacts {
  readonly upload: z.infer<typeof UploadChoice>;
  /** Whether the owner's trainer command contains `{output_dir}`; null when the rig has no such command. */
  readonly commandHasOutputDir: boolean | null;
}

const Text = z.string().max(200).pipe(CleanLine).nullish();
const Count = z.number().int().min(0).max(1024).nullish();
const Vram = z.number().min(0).max(1e6).nullish();

/** The published agent's spelling: a nested object. */
const GpuInfo = z.object({
  name: Text,
  vram_gb: Vram,
  count: Count,
  driver: Text,
  accelerator: Text,
  gpus: z
    .array(Gpu.extend({ name: z.string().max(200).pipe(CleanLine) }))
    .max(1024)
    .nullish(),
});

/** SimpleTuner's guide uses the flat fields. They take precedence over `gpu_info`. */
export const CapabilityFields = {
  gpu_count: Count,
  gpu_name: Text,
  gpu_vram_gb: Vram,
  accelerator_type: Text,
  gpu_info: GpuInfo.nullish(),
};

type CapabilityBody = z.output<z.ZodObject<typeof CapabilityFields>>;

export function capabilitiesFrom(body: CapabilityBody): Capabilities {
  const info = body.gpu_info;
  return {
    gpuCount: body.gpu_count ?? info?.count ?? 0,
    gpuName: body.gpu_name ?? info?.name ?? null,
    gpuVramGb: body.gpu_vram_gb ?? info?.vram_gb ?? null,
    accelerator: body.accelerator_type ?? info?.accelerator ?? null,
    driver: info?.driver ?? null,
    gpus: info?.gpus ?? [],
  };
}

const Time = z.iso.datetime();

/** A worker in lists and details; ids and GPU figures appear in both spellings. */
export const WorkerView = z
  .object({
    id: WorkerId,
    worker_id: WorkerId,
    name: z.string(),
    status: WorkerStatus,
    /** Reason for the status, where it is not obvious: `no_stream`, `silent`, `goodbye`, ... */
    status_reason: z.string().nullable(),
    worker_type: WorkerType,
    gpu_count: z.number(),
    gpu_name: z.string().nullable(),
    gpu_vram_gb: z.number().nullable(),
    accelerator_type: z.string().nullable(),
    gpu_info: z.object({
      name: z.string().nullable(),
      vram_gb: z.number().nullable(),
      count: z.number(),
      driver: z.string().nullable(),
      accelerator: z.string().nullable(),
      gpus: z.array(Gpu),
    }),
    /** Labels for matching: those of the agent, overridden by those of an admin. */
    labels: Labels,
    /** Only the labels of an admin; a PATCH of `labels` replaces them. */
    admin_labels: Labels,
    /** Whether it is the orchestrator's own machine. */
    local: z.boolean(),
    current_job_id: JobId.nullable(),
    /** Time of the last request of the worker that this orchestrator answered. */
    last_heartbeat: Time.nullable(),
    last_contact_age_s: z.number().nullable(),
    /** When its stream broke; null once another stream opens or the worker is offline. */
    stream_closed_at: Time.nullable().default(null),
    /** From the last heartbeat: percent across all GPUs, and GiB; null when not reported. */
    gpu_utilization: z.number().nullable(),
    vram_used_gb: z.number().nullable(),
    created_at: Time,
    registered_at: Time.nullable(),
    /** The agent's own name, by default its host name. */
    host: z.string().nullable(),
    /** Whether the agent stays after a job; null before its first registration. */
    persistent: z.boolean().nullable(),
    agent_version: z.string().nullable(),
    /** Trainers on the rig; `any` is a command that accepts every config. Null when the agent does not report them. */
    trainers: z
      .array(z.object({ name: z.string(), version: z.string().nullable() }))
      .nullable()
      .default(null),
    protocol: z.number(),
    drain: z
      .object({
        reason: z.string().nullable(),
        by: z.string(),
        since: Time,
        /** When the running job is stopped and moved to another worker. */
        deadline: Time.nullable(),
      })
      .nullable(),
    /**
     * No jobs are dispatched to the worker because several in a row failed to start. After `retry_at`, one job is tried.
     */
    quarantine: z.object({ reason: z.string(), since: Time, retry_at: Time }).nullable(),
    /** GPU troubles reported by the agent. `status_reason` tells whether they prevent dispatch. */
    gpu_troubles: z.array(GpuTrouble),
    /** Another machine that recently tried to register with the same token. */
    duplicate: z.object({ at: Time, host: z.string().nullable(), address: z.string().nullable() }).nullable(),
  })
  .meta({ id: 'WorkerView' });
export type WorkerView = z.output<typeof WorkerView>;
