import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { Labels } from './labels.ts';
import { CleanLine } from './line.ts';

export const WorkerType = z.enum(['persistent', 'ephemeral']);
export type WorkerType = z.infer<typeof WorkerType>;

export const WorkerStatus = z.enum(['connecting', 'idle', 'busy', 'draining', 'offline']);
export type WorkerStatus = z.infer<typeof WorkerStatus>;

/** One GPU. `vram_gb` is GiB, rounded to the size it is sold as. */
export const Gpu = z.object({
  index: z.number().int().min(0).max(1023),
  name: z.string().max(200),
  vram_gb: z.number().min(0).max(1e6),
});
export type Gpu = Readonly<z.infer<typeof Gpu>>;

/** `missing`: it is not there, or does not answer; `errors`: its memory has failed; `held`: somebody else's process is on it. */
export const GpuTroubleKind = z.enum(['missing', 'errors', 'held']);
export type GpuTroubleKind = z.infer<typeof GpuTroubleKind>;

/** What is wrong with one GPU of a worker, and in `detail` how that shows and what helps. */
export const GpuTrouble = z.object({
  gpu: Gpu.shape.index,
  kind: GpuTroubleKind,
  detail: z.string().max(200),
});
export type GpuTrouble = Readonly<z.infer<typeof GpuTrouble>>;

/** Whether a GPU with it keeps its worker from jobs. */
export type HoldingBack = Readonly<Record<GpuTroubleKind, boolean>>;

/** What a worker can do, whichever way it spelled it. `gpuVramGb` is that of its smallest GPU. */
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

/** What a worker reports about the outputs of its trainers. */
export interface OutputFacts {
  readonly upload: z.infer<typeof UploadChoice>;
  /** Whether the owner's trainer command has `{output_dir}`; null where the rig has no such command. */
  readonly commandHasOutputDir: boolean | null;
}

const Text = z.string().max(200).pipe(CleanLine).nullish();
const Count = z.number().int().min(0).max(1024).nullish();
const Vram = z.number().min(0).max(1e6).nullish();

/** The published agent's spelling: one object. */
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

/** The guide's spelling beside it, flat. Where both are sent, the flat one wins. */
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

/** A worker as lists and pages show it; ids and GPU figures in both spellings. */
export const WorkerView = z
  .object({
    id: WorkerId,
    worker_id: WorkerId,
    name: z.string(),
    status: WorkerStatus,
    /** Why the status is what it is, where a word does not say it: `no_stream`, `silent`, `goodbye`, ... */
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
    /** What jobs are matched with: the agent's own, and over them those that were given to it here. */
    labels: Labels,
    /** Those alone that were given to it here: what a PATCH of `labels` replaces. */
    admin_labels: Labels,
    /** Whether it is the orchestrator's own machine. */
    local: z.boolean(),
    current_job_id: JobId.nullable(),
    /** The last call of the worker that this orchestrator answered. */
    last_heartbeat: Time.nullable(),
    last_contact_age_s: z.number().nullable(),
    /** When its stream broke, until it opens another one or is offline: it may be gone. */
    stream_closed_at: Time.nullable().default(null),
    /** As its last heartbeat said: percent over all its GPUs, and GiB; null when it did not say. */
    gpu_utilization: z.number().nullable(),
    vram_used_gb: z.number().nullable(),
    created_at: Time,
    registered_at: Time.nullable(),
    /** The name that the agent gave: by default its host's. */
    host: z.string().nullable(),
    /** Whether the agent stays after a job, as it said; null before it ever registered. */
    persistent: z.boolean().nullable(),
    agent_version: z.string().nullable(),
    /** Trainers that the rig has; `any` is a program that takes every config. Null when its agent does not say. */
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
        /** When the job that still runs is stopped and given to another worker. */
        deadline: Time.nullable(),
      })
      .nullable(),
    /** Given no jobs, because several in a row could not start here; after `retry_at` one is tried again. */
    quarantine: z.object({ reason: z.string(), since: Time, retry_at: Time }).nullable(),
    /** What its agent says of its GPUs, by their numbers. `status_reason` says whether it gets no job for it. */
    gpu_troubles: z.array(GpuTrouble),
    /** Another machine that lately tried to join with the same token. */
    duplicate: z.object({ at: Time, host: z.string().nullable(), address: z.string().nullable() }).nullable(),
  })
  .meta({ id: 'WorkerView' });
export type WorkerView = z.output<typeof WorkerView>;
