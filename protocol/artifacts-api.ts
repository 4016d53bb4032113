import { z } from 'zod';
import { ArtifactKey, ArtifactView, CheckpointView } from './artifact.ts';
import { call } from './call.ts';
import { JobId } from './ids.ts';

const fileParams = z.object({ id: JobId, key: ArtifactKey });

/** Artifacts of jobs, for people and scripts with `Authorization: Bearer`. */
export const artifactsApi = {
  list: call({
    method: 'GET',
    path: '/api/queue/:id/artifacts',
    authority: 'queue.view',
    own: 'job',
    summary: 'List the uploaded files of a job, newest first',
    params: z.object({ id: JobId }),
    query: z.object({
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(500)
        .default(100)
        .describe('Maximum number of entries on a page.'),
      cursor: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('`next_cursor` of the previous page; omit it for the first page.'),
    }),
    reply: z.object({
      artifacts: z.array(ArtifactView).describe('Files on this page, newest first.'),
      count: z.number().describe('Number of files on all pages.'),
      total_bytes: z.number().describe('Total size of all files in bytes.'),
      next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page.'),
    }),
  }),
  checkpoints: call({
    method: 'GET',
    path: '/api/queue/:id/checkpoints',
    authority: 'queue.view',
    own: 'job',
    summary: 'List the checkpoints of a job, newest first',
    params: z.object({ id: JobId }),
    reply: z.object({ checkpoints: z.array(CheckpointView).describe('Checkpoints, newest first.') }),
  }),
  download: call({
    method: 'GET',
    path: '/api/queue/:id/artifacts/*key',
    authority: 'queue.submit',
    own: 'job',
    summary: 'Download a file of a job, or a range of it',
    params: fileParams,
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  giveUp: call({
    method: 'POST',
    path: '/api/queue/:id/outstanding/give-up',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Stop waiting for files of a completed job that its worker has not uploaded',
    params: z.object({ id: JobId }),
    reply: z.object({ success: z.literal(true).describe('Always true.'), job_id: JobId }),
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/queue/:id/artifacts/*key',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Delete a file of a job',
    params: fileParams,
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      job_id: JobId,
      key: z.string().describe('Key of the deleted file.'),
    }),
  }),
};
