import { z } from 'zod';
import { call } from './call.ts';
import { ConfigFiles, TrainerConfig } from './job.ts';

/** A config by its name. The exact rules for names are in main/store/configs. */
const byName = z.object({ name: z.string().min(1).max(700).describe('Name of the config, as listed.') });

export const ConfigView = z
  .object({
    name: z.string().describe('Value for `config_name` in a submission.'),
    file: z
      .string()
      .describe('Path below the folder, such as `NAME.json`, `NAME/config.json` or `NAME.yaml`.'),
    changed_at: z.iso.datetime().describe('When the file was last changed.'),
    size: z.number().describe('Size in bytes.'),
    etag: z
      .string()
      .nullable()
      .describe('Entity tag of the content, for `If-Match`; null when the file is too large for a config.'),
    problem: z.string().nullable().describe('Why jobs cannot use this config; null when they can.'),
    model_family: z
      .string()
      .nullable()
      .describe('Family of the model, as the config names it; null when unknown.'),
    model_type: z
      .string()
      .nullable()
      .describe('Kind of training, as the config names it; null when unknown.'),
    gpu_count: z
      .number()
      .nullable()
      .describe('GPU count of a submission that does not set one; null when the config cannot be used.'),
    devices: z
      .array(z.number())
      .nullable()
      .describe('GPU numbers on the worker that the config requires; null for any.'),
    dataloader: z
      .string()
      .nullable()
      .describe('Path of the dataloader file that the config names; null for none.'),
    trainer: z
      .string()
      .nullable()
      .default(null)
      .describe(
        'Trainer of the config: `simpletuner`, `ai-toolkit`, `kohya`, `onetrainer`, `diffusers`, or `command` for any other. Null when unknown.',
      ),
    format: z.enum(['json', 'yaml', 'toml']).default('json').describe('Format of the file.'),
    files: z
      .array(z.string())
      .default([])
      .describe('Additional files that the config names; they are sent with a job.'),
    data: z.array(z.string()).default([]).describe('Paths of training data in the config or its dataloader.'),
  })
  .meta({ id: 'ConfigView', description: 'A config in the folder, with the facts needed to choose one.' });
export type ConfigView = z.output<typeof ConfigView>;

const WrittenConfig = TrainerConfig.refine(config => Object.keys(config).length > 0, 'the config is empty');

const WriteReply = z.object({
  success: z.literal(true).describe('Always true.'),
  name: z.string().describe('Name of the config.'),
  file: z.string().describe('Path of the file below the configs folder.'),
  created: z.boolean().describe('Whether the config is new.'),
  etag: z
    .string()
    .nullable()
    .describe('Entity tag of the content, for `If-Match`; null when the file is too large for a config.'),
  size: z.number().describe('Size in bytes.'),
  warnings: z
    .array(z.string())
    .describe('Why jobs cannot use the config yet, for example a missing dataloader.'),
});

/**
 * The configs folder. An `ETag` prevents lost updates: PUT and DELETE with `If-Match` are refused after the config has
 * changed. PUT with `If-None-Match: *` is refused if the config exists. Jobs have a copy of their config, so changes do
 * not affect earlier jobs.
 */
export const configsApi = {
  list: call({
    method: 'GET',
    path: '/api/configs',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'List configs by name',
    query: z.object({
      q: z.string().max(200).optional().describe('Only configs whose name contains this text.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(500)
        .default(100)
        .describe('Maximum number of entries on a page.'),
      cursor: z
        .string()
        .max(700)
        .optional()
        .describe('`next_cursor` of the previous page; omit it for the first page.'),
    }),
    reply: z.object({
      folder: z.string().describe("Path of the folder on the orchestrator's machine."),
      entries: z.array(ConfigView).describe('Configs on this page, in the order of their names.'),
      next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page.'),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/configs/:name',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show a config with its ETag',
    params: byName,
    reply: TrainerConfig,
  }),
  text: call({
    method: 'GET',
    path: '/api/configs/:name/text',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show the text of a config with its comments, and the files that it names',
    params: byName,
    reply: z.object({
      text: z.string().describe('Text of the file.'),
      format: ConfigView.shape.format,
      etag: z.string().nullable().describe('Entity tag of the content, for `If-Match`.'),
      dataloader: z.unknown().describe('Content of the dataloader file; null when the config names none.'),
      files: ConfigFiles.describe('Texts of other files that the config names, by path.'),
      problem: z.string().nullable().describe('Why jobs cannot use this config; null when they can.'),
    }),
  }),
  dataloader: call({
    method: 'GET',
    path: '/api/configs/:name/dataloader',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show the dataloader of a config',
    params: byName,
    reply: z.object({
      dataloader: z.unknown().describe('Content of the dataloader file; null when the config names none.'),
    }),
  }),
  put: call({
    method: 'PUT',
    path: '/api/configs/:name',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Create or replace a config; If-Match and If-None-Match restrict that',
    params: byName,
    body: WrittenConfig,
    reply: WriteReply,
  }),
  putWithFiles: call({
    method: 'PUT',
    path: '/api/configs/:name/bundle',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Create or replace a config with its files, in a folder of its own',
    params: byName,
    body: z.strictObject({
      config: WrittenConfig.describe('The config as an object that its trainer defines.'),
      files: ConfigFiles.describe('Current texts of the files, by path.'),
    }),
    reply: WriteReply,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/configs/:name',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Delete a config; jobs keep their copies',
    params: byName,
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      name: z.string().describe('Name of the deleted config.'),
      file: z.string().describe('Path of the deleted file below the configs folder.'),
    }),
  }),
};
