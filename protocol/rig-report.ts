import { z } from 'zod';
import { Sha256 } from './dataset.ts';
import { CleanLine } from './line.ts';
import { UploadChoice } from './worker.ts';

export const ConfigKeys = z
  .array(z.string().max(64).pipe(CleanLine))
  .max(64)
  .nullish()
  .catch(null)
  .describe(
    "Restricted config keys that the rig's owner allows. Null when invalid: the agent then counts as one that does not check configs.",
  );

/**
 * `any` is a command that accepts every config. Null when invalid: the agent then counts as one that does not report trainers.
 */
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

/** Outputs that the agent uploads. Null when invalid: they are then unknown to the server. */
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
/** Null when invalid: the agent then counts as one that cannot fetch data. */
export const Datasets = z.array(Sha256).max(100).nullish().catch(null);
