import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { CleanLine, Labels } from './text.ts';
import { WorkerUpdate } from './worker-update-view.ts';

export const WorkerType = z
  .enum(['persistent', 'ephemeral'])
  .describe('`persistent` workers stay after a job; an `ephemeral` worker is deleted after it leaves.');
export type WorkerType = z.infer<typeof WorkerType>;

export const WorkerStatus = z
  .enum(['connecting', 'idle', 'busy', 'draining', 'offline'])
  .describe('Status of the worker: `connecting` means that it is expected or has no command stream.');
export type WorkerStatus = z.infer<typeof WorkerStatus>;

export const Gpu = z.object({
  index: z.number().int().min(0).max(1023).describe('Number of the GPU on its machine, starting at 0.'),
  name: z.string().max(200).describe('Model name of the GPU.'),
  vram_gb: z.number().min(0).max(1e6).describe('Memory in GiB, rounded to the nominal size of the card.'),
});
export type Gpu = Readonly<z.infer<typeof Gpu>>;

const Reading = z.number().min(0).max(1e6).nullable();

/** Figures of one GPU of a worker. A figure is null when the GPU or its agent does not report it. */
export const GpuFigures = z
  .object({
    index: Gpu.shape.index,
    utilization: z.number().min(0).max(100).nullable().describe('Load in percent; null when not reported.'),
    vram_used_gb: Reading.describe('Memory in use in GiB; null when not reported.'),
    temperature_c: Reading.describe('Highest temperature in degrees Celsius; null when not reported.'),
    power_w: Reading.describe('Power draw in watts; null when not reported.'),
    power_limit_w: Reading.describe('Power limit in watts; null when not reported.'),
  })
  .meta({ id: 'GpuFigures', description: 'Figures of one GPU of a worker.' });
export type GpuFigures = Readonly<z.infer<typeof GpuFigures>>;

export const GpuTroubleKind = z
  .enum(['missing', 'errors', 'held'])
  .describe(
    '`missing`: the GPU is absent or does not respond. `errors`: its memory has failed. `held`: a foreign process uses it.',
  );
export type GpuTroubleKind = z.infer<typeof GpuTroubleKind>;

/** A problem with one GPU of a worker. */
export const GpuTrouble = z.object({
  gpu: Gpu.shape.index,
  kind: GpuTroubleKind,
  detail: z.string().max(200).describe('One sentence with the symptom and the remedy.'),
});
export type GpuTrouble = Readonly<z.infer<typeof GpuTrouble>>;

/** For each kind of GPU trouble, whether it prevents dispatch to the worker. */
export type HoldingBack = Readonly<Record<GpuTroubleKind, boolean>>;

/** Capabilities of a worker, in normal form. `gpuVramGb` is the memory of its smallest GPU in GiB. */
export interface Capabilities {
  readonly gpuCount: number;
  readonly gpuName: string | null;
  readonly gpuVramGb: number | null;
  readonly accelerator: string | null;
  readonly driver: string | null;
  readonly gpus: readonly Gpu[];
  /** Machines of the worker's allocation; absent for one. */
  readonly nodes?: number;
}

export const UploadChoice = z
  .enum(['all', 'checkpoints', 'none'])
  .describe('Outputs of trainers that the worker uploads.');

/** Facts that a worker reports about the outputs of its trainers. */
export interface OutputFacts {
  readonly upload: z.infer<typeof UploadChoice>;
  /** Whether the owner's trainer command contains `{output_dir}`; null when the rig has no such command. */
  readonly commandHasOutputDir: boolean | null;
}

const Text = z.string().max(200).pipe(CleanLine).nullish();
const Count = z.number().int().min(0).max(1024).nullish();
const Vram = z.number().min(0).max(1e6).nullish();

/** GPUs of a worker as SimpleTuner's published agent reports them: a nested object. */
const GpuInfo = z.object({
  name: Text.describe('Model name of the GPUs; null when unknown.'),
  vram_gb: Vram.describe('Memory of the smallest GPU, in GiB; null when unknown.'),
  count: Count.describe('Number of GPUs.'),
  driver: Text.describe('Version of the GPU driver; null when unknown.'),
  accelerator: Text.describe('Kind of accelerator: `cuda`, `rocm`, `mps`, ...; null when unknown.'),
  gpus: z
    .array(Gpu.extend({ name: z.string().max(200).pipe(CleanLine).describe('Model name of the GPU.') }))
    .max(1024)
    .nullish()
    .describe('The GPUs one by one; null when the agent does not list them.'),
});

/** GPUs of a worker, in two spellings: flat fields as in SimpleTuner's guide, or `gpu_info`. */
export const CapabilityFields = {
  gpu_count: Count.describe('Number of GPUs. Takes precedence over `gpu_info.count`.'),
  gpu_name: Text.describe('Model name of the GPUs. Takes precedence over `gpu_info.name`.'),
  gpu_vram_gb: Vram.describe('Memory of the smallest GPU, in GiB. Takes precedence over `gpu_info.vram_gb`.'),
  accelerator_type: Text.describe('Kind of accelerator. Takes precedence over `gpu_info.accelerator`.'),
  gpu_info: GpuInfo.nullish().describe("GPUs of the machine, in the spelling of SimpleTuner's agent."),
  nodes: z
    .number()
    .int()
    .min(1)
    .max(256)
    .nullish()
    .describe("Machines of the worker's allocation, each with these GPUs; older agents omit it."),
};

type CapabilityBody = z.output<z.ZodObject<typeof CapabilityFields>>;

/** Converts both spellings to one. Flat fields take precedence over `gpu_info`. */
export function capabilitiesFrom(body: CapabilityBody): Capabilities {
  const info = body.gpu_info;
  const nodes = body.nodes ?? 1;
  return {
    gpuCount: body.gpu_count ?? info?.count ?? 0,
    gpuName: body.gpu_name ?? info?.name ?? null,
    gpuVramGb: body.gpu_vram_gb ?? info?.vram_gb ?? null,
    accelerator: body.accelerator_type ?? info?.accelerator ?? null,
    driver: info?.driver ?? null,
    gpus: info?.gpus ?? [],
    ...(nodes > 1 && { nodes }),
  };
}

const Time = z.iso.datetime();

export const WorkerView = z
  .object({
    id: WorkerId,
    worker_id: WorkerId.describe('Id of the worker; the same as `id`.'),
    name: z.string().describe('Name of the worker as set by an admin.'),
    status: WorkerStatus,
    status_reason: z
      .string()
      .nullable()
      .describe('Reason for the status, where it is not obvious: `no_stream`, `silent`, `goodbye`, ...'),
    worker_type: WorkerType,
    gpu_count: z.number().describe('Number of GPUs that the worker uses.'),
    nodes: z.number().default(1).describe("Machines of the worker's allocation; 1 for a worker of its own."),
    gpu_name: z.string().nullable().describe('Model name of the GPUs; null when unknown.'),
    gpu_vram_gb: z.number().nullable().describe('Memory of the smallest GPU, in GiB; null when unknown.'),
    accelerator_type: z
      .string()
      .nullable()
      .describe('Kind of accelerator: `cuda`, `rocm`, `mps`, ...; null when unknown.'),
    gpu_info: z
      .object({
        name: z.string().nullable().describe('Model name of the GPUs; null when unknown.'),
        vram_gb: z.number().nullable().describe('Memory of the smallest GPU, in GiB; null when unknown.'),
        count: z.number().describe('Number of GPUs.'),
        driver: z.string().nullable().describe('Version of the GPU driver; null when unknown.'),
        accelerator: z.string().nullable().describe('Kind of accelerator; null when unknown.'),
        gpus: z.array(Gpu).describe('The GPUs one by one; empty when the agent does not list them.'),
      })
      .describe('The same GPU figures in the spelling of SimpleTuner, with each GPU.'),
    labels: Labels.describe('Labels for matching: those of the agent, overridden by those of an admin.'),
    admin_labels: Labels.describe('Only the labels of an admin; a PATCH of `labels` replaces them.'),
    local: z.boolean().describe("Whether it is the orchestrator's own machine."),
    current_job_id: JobId.nullable().describe('Id of the job on the worker; null when it has none.'),
    last_heartbeat: Time.nullable().describe(
      'Time of the last request of the worker that this orchestrator answered.',
    ),
    last_contact_age_s: z
      .number()
      .nullable()
      .describe('Seconds since `last_heartbeat`; null before the first contact.'),
    stream_closed_at: Time.nullable()
      .default(null)
      .describe('When its stream broke; null once another stream opens or the worker is offline.'),
    gpu_utilization: z
      .number()
      .nullable()
      .describe('Load of all GPUs in percent, from the last heartbeat; null when not reported.'),
    vram_used_gb: z
      .number()
      .nullable()
      .describe('GPU memory in use in GiB, from the last heartbeat; null when not reported.'),
    gpu_figures: z
      .array(GpuFigures)
      .default([])
      .describe(
        'Figures of each GPU from the last heartbeat; `gpu_info.gpus` has its name and memory. Empty when the agent does not report them.',
      ),
    created_at: Time.describe('When the worker was created, in UTC.'),
    registered_at: Time.nullable().describe('When the agent last registered; null before the first time.'),
    host: z.string().nullable().describe("The agent's own name, by default its host name."),
    persistent: z
      .boolean()
      .nullable()
      .describe('Whether the agent stays after a job; null before its first registration.'),
    agent_version: z.string().nullable().describe('Version of the agent; null when it does not report one.'),
    trainers: z
      .array(
        z.object({
          name: z.string().describe('Name of the trainer, such as `simpletuner`.'),
          version: z.string().nullable().describe('Version of the trainer; null when unknown.'),
        }),
      )
      .nullable()
      .default(null)
      .describe(
        'Trainers on the rig; `any` is a command that accepts every config. Null when the agent does not report them.',
      ),
    protocol: z.number().describe('Version of the worker protocol that the agent uses.'),
    drain: z
      .object({
        reason: z.string().nullable().describe('Reason that the admin gave; null for none.'),
        by: z.string().describe('Name of the token that started the drain.'),
        since: Time.describe('When the drain started.'),
        deadline: Time.nullable().describe('When the running job is stopped and moved to another worker.'),
      })
      .nullable()
      .describe('The drain of the worker; null when it is not draining.'),
    quarantine: z
      .object({
        reason: z.string().describe('Why the worker is in quarantine.'),
        since: Time.describe('When the quarantine started.'),
        retry_at: Time.describe('When one job is tried on the worker.'),
      })
      .nullable()
      .describe(
        'No jobs are dispatched to the worker because several in a row failed to start. After `retry_at`, one job is tried.',
      ),
    gpu_troubles: z
      .array(GpuTrouble)
      .describe('GPU troubles reported by the agent. `status_reason` tells whether they prevent dispatch.'),
    duplicate: z
      .object({
        at: Time.describe('Time of the last attempt to register.'),
        host: z.string().nullable().describe('Host name of the other machine; null when unknown.'),
        address: z.string().nullable().describe('Network address of the other machine; null when unknown.'),
      })
      .nullable()
      .describe('Another machine that recently tried to register with the same token.'),
    update: WorkerUpdate.nullable()
      .default(null)
      .describe('Whether the program can be updated, and its update; null before the first registration.'),
  })
  .meta({ id: 'WorkerView', description: 'A worker, with ids and GPU figures in both spellings.' });
export type WorkerView = z.output<typeof WorkerView>;
