/** Schemas of a worker's reports about its machine and about the progress of a job. */
import { z } from 'zod';
import { Sha256 } from './dataset.ts';
import { CleanLine, cleanLine } from './text.ts';
import { GpuFigures, GpuTrouble, UploadChoice } from './worker.ts';

export const ConfigKeys = z
  .array(z.string().max(64).pipe(CleanLine))
  .max(64)
  .nullish()
  .catch(null)
  .describe(
    "Restricted config keys that the rig's owner allows. Null when invalid: the agent then counts as one that does not check configs.",
  );

/** Trainers on the rig. An invalid value becomes null, as if the agent did not report trainers. */
export const Trainers = z
  .array(
    z.object({
      name: z
        .string()
        .min(1)
        .max(40)
        .pipe(CleanLine)
        .describe('Name of the trainer; `any` is a command that accepts every config.'),
      version: z
        .string()
        .max(100)
        .pipe(CleanLine)
        .nullable()
        .default(null)
        .describe('Version of the trainer; null when unknown.'),
    }),
  )
  .max(16)
  .nullish()
  .catch(null);

/** Outputs that the agent uploads. An invalid value becomes null, as if the agent did not report them. */
export const Outputs = z
  .object({
    upload: UploadChoice.describe('Outputs that the agent uploads.'),
    command_has_output_dir: z
      .boolean()
      .nullable()
      .default(null)
      .describe(
        "Whether the owner's trainer command contains `{output_dir}`; null when the rig has no such command.",
      ),
  })
  .nullish()
  .catch(null);

/** Datasets on the rig. An invalid value becomes null, as if the agent could not fetch data. */
export const Datasets = z.array(Sha256).max(100).nullish().catch(null);

const maxTroubles = 32;
const ReportedTrouble = GpuTrouble.extend({
  detail: CleanLine.describe('One sentence with the symptom and the remedy.'),
});

/** Troubles of the rig's GPUs. Invalid entries are dropped, so that they do not make a heartbeat fail. */
export const GpuTroubles = z
  .unknown()
  .transform(value =>
    Array.isArray(value)
      ? value.slice(0, maxTroubles).flatMap(entry => ReportedTrouble.safeParse(entry).data ?? [])
      : undefined,
  )
  .optional();

/** Maximum number of GPUs with figures in a heartbeat. */
export const maxGpuFigures = 64;
const ReportedFigures = GpuFigures.extend({
  utilization: GpuFigures.shape.utilization.catch(null),
  vram_used_gb: GpuFigures.shape.vram_used_gb.catch(null),
  temperature_c: GpuFigures.shape.temperature_c.catch(null),
  power_w: GpuFigures.shape.power_w.catch(null),
  power_limit_w: GpuFigures.shape.power_limit_w.catch(null),
});

/** Figures of each GPU. Invalid entries are dropped. */
const FigureList = z
  .unknown()
  .transform(value =>
    Array.isArray(value)
      ? value.slice(0, maxGpuFigures).flatMap(entry => ReportedFigures.safeParse(entry).data ?? [])
      : undefined,
  )
  .optional();

const Figure = z
  .unknown()
  .transform(value => (typeof value === 'number' && Number.isFinite(value) ? value : undefined))
  .optional();

/** The part of a heartbeat about GPUs. Invalid values are dropped, so that they do not make the heartbeat fail. */
export const GpuReports = {
  gpu_utilization: Figure.describe('Load of all GPUs in percent; an invalid value is dropped.'),
  vram_used_gb: Figure.describe('GPU memory in use in GiB; an invalid value is dropped.'),
  gpu_figures: FigureList.describe(
    'Figures of each GPU: `index`, `utilization`, `vram_used_gb`, `temperature_c`, `power_w`, `power_limit_w`. Invalid values become null; at most 64 GPUs. Absent from older agents.',
  ),
  gpu_troubles: GpuTroubles.describe('All current troubles; absent from agents that do not monitor GPUs.'),
};

/** The reason why a rig accepts no jobs at the moment, as its agent reports it. */
export const Closed = z
  .object({
    reason: z
      .enum(['hours', 'in_use', 'notice'])
      .describe(
        'Outside of the hours of the rig, somebody uses the machine, or the machine will be taken away soon.',
      ),
    detail: z.string().max(200).pipe(CleanLine).describe('The reason as a sentence.'),
    opens_at: z.iso.datetime().nullable().describe('When it takes jobs again; null when unknown.'),
  })
  .describe('Why the rig takes no job for now; null when it takes jobs, absent from agents without hours.');
export type Closed = Readonly<z.output<typeof Closed>>;

const Count = z.number().min(0).max(1e12);

export const Progress = z
  .object({
    step: Count.optional().describe('Number of completed steps.'),
    total_steps: Count.optional().describe('Number of steps of the whole training.'),
    epoch: Count.optional().describe('Current epoch; may be a fraction.'),
    loss: z.number().optional().describe('Newest loss of the training.'),
    learning_rate: z.number().optional().describe('Current learning rate.'),
    steps_per_second: Count.optional().describe('Current speed in steps per second.'),
    percent: z.number().min(0).max(100).optional().describe('Completed part of the training, 0 to 100.'),
    eta_s: Count.optional().describe('Estimated seconds until the end.'),
    stage: z.string().max(200).optional().describe('Current phase, such as `Training` or `Validation`.'),
    last_log: z
      .string()
      .max(80)
      .optional()
      .describe("Newest line of the trainer's log as plain text, truncated and without secrets."),
    metrics: z
      .record(z.string().max(64), z.number())
      .refine(metrics => Object.keys(metrics).length <= 64, 'at most 64 metrics')
      .optional()
      .describe('Other figures of the trainer, by name; at most 64.'),
  })
  .meta({ id: 'Progress', description: 'Progress of a trainer. Every field is optional.' });
export type Progress = Readonly<z.output<typeof Progress>>;

const spellings: ReadonlyMap<string, keyof typeof Progress.shape> = new Map([
  ['current_step', 'step'],
  ['totalSteps', 'total_steps'],
  ['max_steps', 'total_steps'],
  ['lr', 'learning_rate'],
  ['learningRate', 'learning_rate'],
  ['stepsPerSecond', 'steps_per_second'],
  ['progress', 'percent'],
]);

/**
 * Progress from agents of any version: a percentage, or an object whose keys have one of several spellings. Invalid fields
 * are dropped. For example, an invalid loss must not prevent a job from completing.
 */
export const AnyProgress = z.unknown().transform((value): Progress | undefined => {
  if (typeof value === 'number') return field('percent', value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = Object.entries(value)
    .slice(0, 64)
    .map(([key, part]) => field(spellings.get(key) ?? key, part));
  const progress = fields.reduce<Progress>((all, part) => ({ ...all, ...part }), {});
  return Object.keys(progress).length > 0 ? progress : undefined;
});

function field(name: string, value: unknown): Progress | undefined {
  if (!Object.hasOwn(Progress.shape, name)) return undefined;
  const cleaned = typeof value === 'string' ? cleanLine(value) : value;
  const parsed = Progress.safeParse({
    [name]:
      name === 'last_log' && typeof cleaned === 'string' ? cleaned.slice(0, 80).toWellFormed() : cleaned,
  });
  return parsed.success ? parsed.data : undefined;
}

/** Config keys of one trainer, as listed by the trainer itself. */
export const TrainerKeys = z.strictObject({
  trainer: z.string().min(1).max(40).describe("Name of a trainer in the worker's registration."),
  keys: z
    .array(z.string().regex(/^[\w.-]{1,100}$/))
    .max(5_000)
    .describe('Config keys that the trainer accepts.'),
});
export type TrainerKeys = z.output<typeof TrainerKeys>;
