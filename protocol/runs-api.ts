import { z } from 'zod';
import { call } from './call.ts';
import { JobId } from './ids.ts';
import { JobEdit } from './job-about.ts';
import { JobView } from './job.ts';
import { SweepReply, SweepRequest } from './sweep.ts';

/** Calls that submit a sweep of a config, and that edit the name, notes, tags and group of a job. */
export const runsApi = {
  sweep: call({
    method: 'POST',
    path: '/api/queue/sweeps',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job for each combination of config values, all of them or none',
    body: SweepRequest,
    reply: SweepReply,
  }),
  edit: call({
    method: 'PATCH',
    path: '/api/queue/:id',
    authority: 'queue.submit',
    own: 'job',
    summary: 'Change the name, notes, tags or group of a job',
    params: z.object({ id: JobId }),
    body: JobEdit,
    reply: JobView.extend({
      success: z.literal(true).describe('Always true.'),
      notes: z.string().nullable().describe('Notes of people about the job; null for none.'),
    }),
  }),
};
