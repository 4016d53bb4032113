import { z } from 'zod';
import { call } from './call.ts';
import { WorkerId } from './ids.ts';
import { WorkerView } from './worker.ts';
import { UpdateAnswer, UpdateReport, UpdateRequest } from './worker-update.ts';

/** Updates of worker programs. `report` is a request of a worker, with the token in `X-Worker-Token`. */
export const workerUpdatesApi = {
  request: call({
    method: 'POST',
    path: '/api/admin/worker-updates',
    authority: 'admin.workers',
    summary: "Update workers to the server's version, a few at a time",
    body: UpdateRequest,
    reply: z.object({
      workers: z.array(UpdateAnswer).describe('Result for each worker, in the order of the request.'),
      version: z.string().describe('Version to which they are updated.'),
      command: z
        .string()
        .nullable()
        .describe('Command that updates a worker by hand, on its machine; null when no program was built.'),
    }),
  }),
  cancel: call({
    method: 'DELETE',
    path: '/api/admin/workers/:id/update',
    authority: 'admin.workers',
    summary: 'Cancel the update of a worker, or dismiss a failed one',
    params: z.object({ id: WorkerId }),
    reply: WorkerView,
  }),
  report: call({
    method: 'POST',
    path: '/api/workers/update',
    authority: 'worker',
    summary: 'Report the progress of an update of the worker program',
    body: UpdateReport,
    reply: z.object({
      proceed: z.boolean().describe('Whether the worker continues; false when the update was cancelled.'),
    }),
  }),
};
