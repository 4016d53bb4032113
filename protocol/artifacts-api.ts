import { z } from 'zod';
import { ArtifactKey, ArtifactView, CheckpointView } from './artifact.ts';
import { call } from './call.ts';
import { JobId } from './ids.ts';

/** Maximum number of jobs whose samples one request can list. */
export const maxSampleJobs = 4;

export const SampleView = ArtifactView.extend({
  order: z.number().describe('Number of the file. A file that is stored later has a higher number.'),
  name: z.string().nullable().describe('Name of the job; null to show the name of the config.'),
  config_name: z.string().describe('Config name of the job.'),
  step: z.number().nullable().describe('Step in the name of the file; null when it contains none.'),
  epoch: z
    .number()
    .nullable()
    .describe(
      'Epoch in the name of the file, for trainers that write it instead of the step; null for none.',
    ),
  prompt_index: z
    .number()
    .nullable()
    .describe('Position of the prompt in the config, starting at 0; null when the name contains none.'),
  prompt: z
    .string()
    .nullable()
    .describe('Text or short name of the prompt in the name of the file; null when it contains none.'),
}).meta({
  id: 'SampleView',
  description: 'A sample image or video of a job, with the step and the prompt that its name contains.',
});
export type SampleView = z.output<typeof SampleView>;

/** One job, or several separated by commas. */
const SampleJobs = z
  .string()
  .max(maxSampleJobs * 65)
  .transform(text => text.split(','))
  .pipe(z.array(JobId).min(1).max(maxSampleJobs));

const Step = z.coerce.number().int().min(0).max(1e12);

const fileParams = z.object({ id: JobId, key: ArtifactKey });

/** The part of a query that selects a page of a list. */
const page = {
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
};

/** Artifacts of jobs, for people and scripts with `Authorization: Bearer`. */
export const artifactsApi = {
  list: call({
    method: 'GET',
    path: '/api/queue/:id/artifacts',
    authority: 'queue.view',
    own: 'job',
    summary: 'List the uploaded files of a job, newest first',
    params: z.object({ id: JobId }),
    query: z.object(page),
    reply: z.object({
      artifacts: z.array(ArtifactView).describe('Files on this page, newest first.'),
      count: z.number().describe('Number of files on all pages.'),
      total_bytes: z.number().describe('Total size of all files in bytes.'),
      next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page.'),
    }),
  }),
  samples: call({
    method: 'GET',
    path: '/api/samples',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List the samples of all jobs, or of up to four, newest first',
    query: z.object({
      job: SampleJobs.optional().describe(
        'Id of a job, or up to four ids separated by commas; omitted for all jobs.',
      ),
      from_step: Step.optional().describe(
        'Only samples of this step or later. Leaves out files without a step.',
      ),
      to_step: Step.optional().describe(
        'Only samples of this step or earlier. Leaves out files without a step.',
      ),
      ...page,
    }),
    reply: z.object({
      samples: z
        .array(SampleView)
        .describe(
          'Samples on this page, newest first. A request examines at most 5,000 files, so a page can have fewer entries than its limit, or none, although more follow.',
        ),
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
