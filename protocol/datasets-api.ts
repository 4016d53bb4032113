import { z } from 'zod';
import { call } from './call.ts';
import { Sha256 } from './dataset.ts';
import { WorkerId } from './ids.ts';
import { Line } from './line.ts';

/** Name of a dataset. */
export const DatasetName = Line.trim().min(1).max(120);

/** A version of a dataset. */
export const DatasetView = z
  .object({
    id: z.number(),
    name: z.string(),
    /** Name of the token that pushed it. */
    owner: z.string(),
    /** SHA-256 of the manifest; equal files have equal versions. */
    version: Sha256,
    files: z.number(),
    /** Total size of all files. Identical files are stored once but counted separately. */
    bytes: z.number(),
    created_at: z.iso.datetime(),
    /** Kept even when no job uses it. */
    pinned: z.boolean(),
    /** Number of stored jobs that use it. */
    jobs: z.number(),
    /** Whether it is the newest version with this name and owner. */
    newest: z.boolean(),
  })
  .meta({ id: 'DatasetView' });
export type DatasetView = z.output<typeof DatasetView>;

const VersionId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const byVersion = z.object({ id: z.coerce.number().pipe(VersionId) });

/**
 * Datasets that workstations push and rigs fetch for their jobs. Tokens with `.own` permissions reach only their own datasets.
 */
export const datasetsApi = {
  list: call({
    method: 'GET',
    path: '/api/datasets',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List the versions of datasets, newest first, and the room that they take',
    query: z.object({
      name: DatasetName.optional(),
      /** Include older versions. */
      all: z.stringbool().default(false),
      /** Only versions on the rig of this worker, including older ones. */
      worker_id: WorkerId.optional(),
    }),
    reply: z.object({
      datasets: z.array(DatasetView),
      /** Size of all stored files; identical contents count once. */
      stored_bytes: z.number(),
      /** Null without a limit. */
      limit_bytes: z.number().nullable(),
    }),
  }),
  missing: call({
    method: 'POST',
    path: '/api/datasets/missing',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Say which of these contents are not stored yet, by their SHA-256',
    body: z.strictObject({ contents: z.array(Sha256).max(5_000) }),
    reply: z.object({ missing: z.array(Sha256) }),
  }),
  progress: call({
    method: 'GET',
    path: '/api/datasets/contents/:digest',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Say how much of an interrupted upload of a content is stored',
    params: z.object({ digest: Sha256 }),
    reply: z.object({ bytes: z.number(), complete: z.boolean() }),
  }),
  upload: call({
    method: 'PUT',
    path: '/api/datasets/contents/:digest',
    authority: 'queue.submit',
    own: 'shared',
    summary:
      'Store a content: a file of a dataset, or a manifest. With Content-Range, continue an interrupted upload',
    takesBytes: true,
    params: z.object({ digest: Sha256 }),
    reply: z.object({ success: z.literal(true), bytes: z.number() }),
  }),
  publish: call({
    method: 'POST',
    path: '/api/datasets',
    authority: 'queue.submit',
    own: 'shared',
    summary:
      'Make a version of a dataset of a stored manifest, whose contents are all stored; the same files make no second version',
    body: z.strictObject({ name: DatasetName, version: Sha256, pinned: z.boolean().default(false) }),
    reply: DatasetView.extend({ success: z.literal(true) }),
  }),
  pin: call({
    method: 'POST',
    path: '/api/datasets/:id/pin',
    authority: 'queue.submit',
    own: 'filtered',
    summary: 'Keep a version even when no job uses it, or stop keeping it',
    params: byVersion,
    body: z.strictObject({ pinned: z.boolean() }),
    reply: DatasetView.extend({ success: z.literal(true) }),
  }),
  prune: call({
    method: 'POST',
    path: '/api/datasets/prune',
    authority: 'queue.submit',
    own: 'filtered',
    summary:
      'Remove versions that nothing needs: not the newest, not pinned, and used by no stored job; with names or versions, the newest, too',
    body: z
      .strictObject({
        /** Only these datasets, including their newest versions. */
        names: z.array(DatasetName).max(100).optional(),
        /** Only these versions by id, including the newest. */
        versions: z.array(VersionId).max(1_000).optional(),
        /** Only report what would be removed. */
        dry_run: z.boolean().default(false),
      })
      .refine(({ names, versions }) => names === undefined || versions === undefined, {
        path: ['versions'],
        message: 'names and versions exclude each other',
      }),
    reply: z.object({
      success: z.literal(true),
      removed: z.array(DatasetView),
      /** Size of all contents that only these versions use. */
      freed_bytes: z.number(),
    }),
  }),
};
