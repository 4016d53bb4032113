import { z } from 'zod';
import { ArtifactKey, ArtifactView, CheckpointView } from './artifact.ts';
import { call } from './call.ts';
import { JobId } from './ids.ts';

const place = z.object({ id: JobId, key: ArtifactKey });

/** Artifacts of jobs, for people and scripts with `Authorization: Bearer`. */
export const artifactsApi = {
  list: call({
    method: 'GET',
    path: '/api/queue/:id/artifacts',
    authority: 'queue.view',
    own: 'job',
    summary: 'List what the trainers of a job have uploaded, newest first',
    params: z.object({ id: JobId }),
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      /** `next_cursor` of the previous page. */
      cursor: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    }),
    reply: z.object({
      artifacts: z.array(ArtifactView),
      /** Counts all artifacts, not only this page. */
      count: z.number(),
      total_bytes: z.number(),
      /** Cursor of the next page; null on the last page. */
      next_cursor: z.string().nullable(),
    }),
  }),
  checkpoints: call({
    method: 'GET',
    path: '/api/queue/:id/checkpoints',
    authority: 'queue.view',
    own: 'job',
    summary: 'List the checkpoints among them, newest first',
    params: z.object({ id: JobId }),
    reply: z.object({ checkpoints: z.array(CheckpointView) }),
  }),
  download: call({
    method: 'GET',
    path: '/api/queue/:id/artifacts/*key',
    authority: 'queue.submit',
    own: 'job',
    summary: 'Download one of them, or a range of it',
    params: place,
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  giveUp: call({
    method: 'POST',
    path: '/api/queue/:id/outstanding/give-up',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Stop waiting for the files of a completed job that its worker has not uploaded yet',
    params: z.object({ id: JobId }),
    reply: z.object({ success: z.literal(true), job_id: JobId }),
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/queue/:id/artifacts/*key',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Delete one of them',
    params: place,
    reply: z.object({ success: z.literal(true), job_id: JobId, key: z.string() }),
  }),
};
