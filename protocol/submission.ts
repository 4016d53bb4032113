import { z } from 'zod';
import { DataRequest } from './dataset.ts';
import { aboutFields } from './job-about.ts';
import { afterFields } from './job-dependencies.ts';
import { inputFields } from './job-inputs.ts';
import {
  ConfigFiles,
  Dataloader,
  FailureCause,
  NodeCount,
  OnLostContact,
  priorities,
  PriorityWord,
  Target,
  TrainerConfig,
} from './job.ts';
import { LabelPatterns, Line } from './text.ts';

/** Printable ASCII without spaces, so that it fits into a header. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 printable ASCII characters without spaces');

/**
 * Unlike the schemas for agents, this schema rejects unknown keys. If a misspelled requirement were ignored, the job could
 * run on a worker that the job's owner wanted to exclude.
 */
export const SubmitRequest = z
  .strictObject({
    config_name: Line.min(1)
      .max(700)
      .optional()
      .describe('Name of a config in the configs folder. With `config`, only a name for display.'),
    config: TrainerConfig.optional().describe(
      'Inline config; omitted to use the config named by `config_name`.',
    ),
    dataloader: Dataloader.nullish().describe(
      'For an inline config: content of the file that `data_backend_config` names. A config in the folder has its own dataloader beside it.',
    ),
    files: ConfigFiles.optional().describe(
      'For an inline config: texts of other files that it names, keyed by the paths in the config.',
    ),
    data: z
      .array(DataRequest)
      .max(64)
      .optional()
      .describe(
        'Dataset versions that the job needs. The worker fetches them and replaces these paths in the config by their locations.',
      ),
    ...aboutFields,
    ...afterFields,
    ...inputFields,
    target: Target.default('auto'),
    worker_labels: LabelPatterns.default({}),
    gpu_count: z
      .number()
      .int()
      .min(0)
      .max(1024)
      .optional()
      .describe('Minimum number of GPUs of the worker; defaults to what the config needs.'),
    num_nodes: NodeCount.optional(),
    gpu_vram_gb: z
      .number()
      .min(0)
      .max(10_000)
      .default(0)
      .describe('Nominal GB per GPU: `24` matches a card sold with 24 GB.'),
    accelerator: Line.trim()
      .toLowerCase()
      .min(1)
      .max(40)
      .optional()
      .describe(
        'Accelerator that the job requires, as workers report it: `cuda`, `rocm`, `mps`, ...; omitted for any.',
      ),
    priority: PriorityWord.prefault(priorities.normal),
    max_retries: z.number().int().min(0).max(100).default(3).describe('Number of retries after failures.'),
    retry_on: z
      .array(FailureCause)
      .max(FailureCause.options.length)
      .default([])
      .describe('Causes to retry in addition to lost workers and preemptions, which are always retried.'),
    on_lost_contact: OnLostContact.default('continue').describe(
      'Action of the worker when it loses contact with the orchestrator.',
    ),
    timeout_s: z
      .number()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe('Maximum run time of one attempt, in seconds.'),
    requires_approval: z
      .boolean()
      .default(false)
      .describe('Hold the job until an authorized user approves it.'),
    no_wait: z
      .boolean()
      .default(false)
      .describe('Reject the job instead of queueing it when no worker can take it at once.'),
    any_gpu: z
      .boolean()
      .default(false)
      .describe('Use any GPUs and ignore `accelerate_visible_devices` in the config.'),
    dry_run: z
      .boolean()
      .default(false)
      .describe('Store nothing and return what would happen to the job. The idempotency key is not used up.'),
    idempotency_key: IdempotencyKey.optional().describe(
      'For 24 hours, the same key returns the same job. Equivalent to the header `Idempotency-Key`.',
    ),
  })
  .refine(body => !(body.no_wait && body.requires_approval), {
    path: ['no_wait'],
    message: 'a job that waits for approval cannot start at once',
  })
  .refine(body => body.config_name !== undefined || body.config !== undefined, {
    path: ['config_name'],
    message: 'config_name or config is required',
  })
  .refine(body => body.config !== undefined || !body.dataloader, {
    path: ['dataloader'],
    message: 'dataloader requires config: a config in the folder has its own dataloader',
  })
  .refine(body => body.config !== undefined || body.files === undefined, {
    path: ['files'],
    message: 'files requires config: a config in the folder has its own files',
  })
  .refine(body => (body.after ?? body.inputs) !== undefined || body.after_on === undefined, {
    path: ['after_on'],
    message: 'after_on requires after or inputs',
  });
export type SubmitRequest = z.output<typeof SubmitRequest>;
