import { z } from 'zod';
import { cleanLine } from './line.ts';

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
 * Progress from agents of any version: a percentage, or an object in one of several spellings. Invalid fields are dropped instead
 * of refused: an invalid loss must not prevent a job from completing.
 */
export const AnyProgress = z.unknown().transform((value): Progress | undefined => {
  if (typeof value === 'number') return field('percent', value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const parts = Object.entries(value)
    .slice(0, 64)
    .map(([key, part]) => field(spellings.get(key) ?? key, part));
  const progress = parts.reduce<Progress>((all, part) => ({ ...all, ...part }), {});
  return Object.keys(progress).length > 0 ? progress : undefined;
});

function field(name: string, value: unknown): Progress | undefined {
  if (!Object.hasOwn(Progress.shape, name)) return undefined;
  const shown = typeof value === 'string' ? cleanLine(value) : value;
  const parsed = Progress.safeParse({
    [name]: name === 'last_log' && typeof shown === 'string' ? shown.slice(0, 80).toWellFormed() : shown,
  });
  return parsed.success ? parsed.data : undefined;
}
