import { z } from 'zod';
import { call } from './call.ts';
import { ConfigFiles, TrainerConfig } from './job.ts';

/** The configs folder defines the exact rules for names. */
const byName = z.object({ name: z.string().min(1).max(700) });

/** A config in the folder, with the facts needed to choose one. */
export const ConfigView = z
  .object({
    /** Value for `config_name` in a submission. */
    name: z.string(),
    /** Path below the folder, such as `NAME.json`, `NAME/config.json` or `NAME.yaml`. */
    file: z.string(),
    changed_at: z.iso.datetime(),
    /** In bytes. */
    size: z.number(),
    /** Entity tag of the content, for `If-Match`; null when the file is too large for a config. */
    etag: z.string().nullable(),
    /** Why jobs cannot use this config; null when they can. */
    problem: z.string().nullable(),
    model_family: z.string().nullable(),
    model_type: z.string().nullable(),
    /** GPU count of a submission that does not set one; null when the config cannot be used. */
    gpu_count: z.number().nullable(),
    /** GPU numbers on the worker that the config requires; null for any. */
    devices: z.array(z.number()).nullable(),
    /** Path of the dataloader file that the config names. */
    dataloader: z.string().nullable(),
    /**
     * Trainer of the config: `simpletuner`, `ai-toolkit`, `kohya`, `onetrainer`, `diffusers`, or `command` for any other.
     */
    trainer: z.string().nullable().default(null),
    format: z.enum(['json', 'yaml', 'toml']).default('json'),
    /** Additional files that the config names; they are sent with a job. */
    files: z.array(z.string()).default([]),
    /** Paths of training data in the config or its dataloader. */
    data: z.array(z.string()).default([]),
  })
  .meta({ id: 'ConfigView' });
export type ConfigView = z.output<typeof ConfigView>;

const WrittenConfig = TrainerConfig.refine(config => Object.keys(config).length > 0, 'the config is empty');

const WriteReply = z.object({
  success: z.literal(true),
  name: z.string(),
  file: z.string(),
  /** Whether the config is new. */
  created: z.boolean(),
  etag: z.string().nullable(),
  size: z.number(),
  /** Why jobs cannot use the config yet, for example a missing dataloader. */
  warnings: z.array(z.string()),
});

/**
 * The configs folder. An `ETag` prevents lost updates: PUT and DELETE with `If-Match` are refused after the config has changed.
 * PUT with `If-None-Match: *` only creates. Jobs keep a copy of their config, so changes do not affect jobs submitted earlier.
 */
export const configsApi = {
  list: call({
    method: 'GET',
    path: '/api/configs',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'List the configs that jobs can be submitted by, in the order of their names',
    query: z.object({
      /** Substring of the name. */
      q: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
      /** `next_cursor` of the previous page. */
      cursor: z.string().max(700).optional(),
    }),
    reply: z.object({
      /** Path of the folder on the orchestrator's machine. */
      folder: z.string(),
      entries: z.array(ConfigView),
      /** Cursor of the next page; null on the last page. */
      next_cursor: z.string().nullable(),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/configs/:name',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show a config as it is, with its ETag',
    params: byName,
    reply: TrainerConfig,
  }),
  dataloader: call({
    method: 'GET',
    path: '/api/configs/:name/dataloader',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show the dataloader that a config names, as it lies beside it; null when it names none',
    params: byName,
    reply: z.object({ dataloader: z.unknown() }),
  }),
  put: call({
    method: 'PUT',
    path: '/api/configs/:name',
    authority: 'queue.manage',
    own: 'refused',
    summary:
      'Write a config, whole; one that is there is replaced, unless If-Match or If-None-Match say otherwise',
    params: byName,
    body: WrittenConfig,
    reply: WriteReply,
  }),
  putWithFiles: call({
    method: 'PUT',
    path: '/api/configs/:name/bundle',
    authority: 'queue.manage',
    own: 'refused',
    summary:
      'Write a config into a folder of its own, with files that it names; the same headers decide what may be replaced',
    params: byName,
    body: z.strictObject({
      config: WrittenConfig,
      /** Current texts of the files, by path. */
      files: ConfigFiles,
    }),
    reply: WriteReply,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/configs/:name',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Delete a config; what lies beside it stays, and jobs that were submitted by it keep their copy',
    params: byName,
    reply: z.object({ success: z.literal(true), name: z.string(), file: z.string() }),
  }),
};
