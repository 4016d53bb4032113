import { z } from 'zod';
import { call } from './call.ts';
import { Sha256 } from './dataset.ts';
import { WorkerId } from './ids.ts';
import { Line } from './text.ts';

export const DatasetName = Line.trim().min(1).max(120).describe('Name of a dataset, at most 120 characters.');

export const DatasetView = z
  .object({
    id: z.number().describe('Id of the version.'),
    name: z.string().describe('Name of the dataset.'),
    owner: z.string().describe('Name of the token that pushed it.'),
    version: Sha256.describe('SHA-256 of the manifest; equal files have equal versions.'),
    files: z.number().describe('Number of files.'),
    bytes: z
      .number()
      .describe('Total size of all files in bytes. Identical files are stored once but counted separately.'),
    created_at: z.iso.datetime().describe('When the version was published.'),
    pinned: z.boolean().describe('Whether the version is kept even when no job uses it.'),
    jobs: z.number().describe('Number of stored jobs that use it.'),
    newest: z.boolean().describe('Whether it is the newest version with this name and owner.'),
    workers: z
      .array(z.string())
      .optional()
      .describe(
        'Names of at most 20 workers that have it on their rig. Only in lists, for callers with `admin.workers`.',
      ),
    workers_count: z
      .number()
      .optional()
      .describe('Number of workers that have it on their rig; present if `workers` is.'),
  })
  .meta({ id: 'DatasetView', description: 'A version of a dataset.' });
export type DatasetView = z.output<typeof DatasetView>;

const VersionId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Id of a dataset version.');
const byVersion = z.object({ id: z.coerce.number().pipe(VersionId).describe('Id of a dataset version.') });

/**
 * Datasets that users push and rigs download for jobs. Tokens with `.own` permissions can access only their own datasets.
 */
export const datasetsApi = {
  list: call({
    method: 'GET',
    path: '/api/datasets',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List dataset versions, newest first, and the storage they use',
    query: z.object({
      name: DatasetName.optional().describe('Only versions of this dataset.'),
      all: z.stringbool().default(false).describe('Whether to include older versions.'),
      worker_id: WorkerId.optional().describe(
        'Only versions on the rig of this worker, including older ones.',
      ),
    }),
    reply: z.object({
      datasets: z.array(DatasetView).describe('Versions, newest first.'),
      stored_bytes: z
        .number()
        .describe('Total size of all stored files in bytes; identical contents count once.'),
      limit_bytes: z
        .number()
        .nullable()
        .describe('Maximum size of all stored files in bytes; null without a limit.'),
    }),
  }),
  missing: call({
    method: 'POST',
    path: '/api/datasets/missing',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'List which of these contents are not stored yet',
    body: z.strictObject({
      contents: z.array(Sha256).max(5_000).describe('SHA-256 of each content, in lower-case hex.'),
    }),
    reply: z.object({ missing: z.array(Sha256).describe('SHA-256 of the contents that are not stored.') }),
  }),
  progress: call({
    method: 'GET',
    path: '/api/datasets/contents/:digest',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show the progress of an interrupted upload',
    params: z.object({ digest: Sha256 }),
    reply: z.object({
      bytes: z.number().describe('Number of bytes that are stored.'),
      complete: z.boolean().describe('Whether the content is stored completely.'),
    }),
  }),
  upload: call({
    method: 'PUT',
    path: '/api/datasets/contents/:digest',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Upload a dataset file or a manifest; Content-Range resumes an upload',
    takesBytes: true,
    params: z.object({ digest: Sha256 }),
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      bytes: z.number().describe('Number of bytes that are stored.'),
    }),
  }),
  publish: call({
    method: 'POST',
    path: '/api/datasets',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Publish a dataset version from a stored manifest',
    body: z.strictObject({
      name: DatasetName,
      version: Sha256,
      pinned: z.boolean().default(false).describe('Whether the version is kept even when no job uses it.'),
    }),
    reply: DatasetView.extend({ success: z.literal(true).describe('Always true.') }),
  }),
  pin: call({
    method: 'POST',
    path: '/api/datasets/:id/pin',
    authority: 'queue.submit',
    own: 'filtered',
    summary: 'Pin or unpin a dataset version',
    params: byVersion,
    body: z.strictObject({
      pinned: z.boolean().describe('Whether the version is kept even when no job uses it.'),
    }),
    reply: DatasetView.extend({ success: z.literal(true).describe('Always true.') }),
  }),
  prune: call({
    method: 'POST',
    path: '/api/datasets/prune',
    authority: 'queue.submit',
    own: 'filtered',
    summary: 'Remove unused dataset versions',
    body: z
      .strictObject({
        names: z
          .array(DatasetName)
          .max(100)
          .optional()
          .describe('Only these datasets, including their newest versions.'),
        versions: z
          .array(VersionId)
          .max(1_000)
          .optional()
          .describe('Only these versions by id, including the newest.'),
        dry_run: z
          .boolean()
          .default(false)
          .describe('Whether to only report what would be removed, without removing it.'),
      })
      .refine(({ names, versions }) => names === undefined || versions === undefined, {
        path: ['versions'],
        message: 'names and versions exclude each other',
      }),
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      removed: z.array(DatasetView).describe('Versions that were removed.'),
      freed_bytes: z.number().describe('Total size in bytes of all contents that only these versions used.'),
    }),
  }),
};
