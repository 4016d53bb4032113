import { z } from 'zod';
import { call } from './call.ts';
import { ConfigFiles, TrainerConfig } from './job.ts';

/** Which names there can be, the folder's own rules say. */
const byName = z.object({ name: z.string().min(1).max(700) });

/** A config of the folder, by what a person chooses from. */
export const ConfigView = z
  .object({
    /** As `config_name` of a submit has it. */
    name: z.string(),
    /** Below the folder, such as `NAME.json`, `NAME/config.json` or `NAME.yaml`. */
    file: z.string(),
    changed_at: z.iso.datetime(),
    /** In bytes. */
    size: z.number(),
    /** Of its content, as `If-Match` takes it; null of a file that is too large to be one. */
    etag: z.string().nullable(),
    /** Why no job can be submitted by this name; null when one can. */
    problem: z.string().nullable(),
    model_family: z.string().nullable(),
    model_type: z.string().nullable(),
    /** What a submit asks for that names no number itself; null where the config can not be used. */
    gpu_count: z.number().nullable(),
    /** The GPUs that it wants, by their numbers on the worker; null when any will do. */
    devices: z.array(z.number()).nullable(),
    /** The file beside it that it names as its dataloader. */
    dataloader: z.string().nullable(),
    /** The trainer that it is for: `simpletuner`, `ai-toolkit`, `kohya`, `onetrainer`, `diffusers`, or `command` for any other. */
    trainer: z.string().nullable().default(null),
    format: z.enum(['json', 'yaml', 'toml']).default('json'),
    /** Further files that it names, which travel with a job. */
    files: z.array(z.string()).default([]),
    /** Paths of training data that it names, or its dataloader. */
    data: z.array(z.string()).default([]),
  })
  .meta({ id: 'ConfigView' });
export type ConfigView = z.output<typeof ConfigView>;

const WrittenConfig = TrainerConfig.refine(config => Object.keys(config).length > 0, 'the config is empty');

const WriteReply = z.object({
  success: z.literal(true),
  name: z.string(),
  file: z.string(),
  /** There was none of this name. */
  created: z.boolean(),
  etag: z.string().nullable(),
  size: z.number(),
  /** Why no job can be submitted by it yet: its dataloader is missing, say. */
  warnings: z.array(z.string()),
});

/**
 * The folder of configs. What two people could change at once has an `ETag`: a PUT or DELETE with `If-Match` is refused
 * once the config is another one, and a PUT with `If-None-Match: *` makes a new one only. Jobs keep a copy of theirs: no
 * change here reaches one that was submitted before.
 */
export const configsApi = {
  list: call({
    method: 'GET',
    path: '/api/configs',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'List the configs that jobs can be submitted by, in the order of their names',
    query: z.object({
      /** Part of the name. */
      q: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
      /** `next_cursor` of the page before. */
      cursor: z.string().max(700).optional(),
    }),
    reply: z.object({
      /** Where they are, on the machine of the orchestrator. */
      folder: z.string(),
      entries: z.array(ConfigView),
      /** For the page after this one; null after the last. */
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
      /** As they lie there now. */
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
