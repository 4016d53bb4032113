import { z } from 'zod';
import { call } from './call.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';
import { AttemptView, ShownStatus } from './job.ts';

/** Longest range of a request, in days. The panel reads three months at most. */
export const maxTimelineDays = 366;
/** Maximum number of bars in a response: about 500 KB of JSON. */
export const maxTimelineBars = 2_000;
/** Maximum number of pending jobs with a prediction. Each prediction simulates all jobs ahead in the queue. */
export const maxPredictions = 50;

const TimelineTime = z.iso.datetime({ offset: true, error: 'expected a time, such as 2026-01-31T12:00:00Z' });

const TimelineQuery = z.object({
  from: TimelineTime.optional().describe(
    'Start of the range, in RFC 3339; defaults to 24 hours before `to`.',
  ),
  to: TimelineTime.optional().describe(
    `End of the range, in RFC 3339; after \`from\`, and at most ${maxTimelineDays} days later. May be in the future. Defaults to now.`,
  ),
  worker_id: WorkerId.optional().describe('Only attempts on this worker.'),
  job_id: JobId.optional().describe('Only attempts of this job.'),
});
const TimelineBar = z
  .object({
    attempt_id: AttemptId.describe('Id of the attempt. Bars of an attempt on several workers share it.'),
    job_id: JobId,
    attempt: z.number().describe('Number of the attempt, starting at 1.'),
    worker_id: WorkerId.describe('Worker of this bar.'),
    rank: z
      .number()
      .nullable()
      .describe('Rank of the worker, for an attempt on several workers; null for an attempt on one worker.'),
    offered_at: z.iso.datetime().describe('When the job was offered to the worker.'),
    started_at: z.iso.datetime().nullable().describe('When the attempt started; null if it has not started.'),
    ended_at: z.iso.datetime().nullable().describe('When the attempt ended; null while it is live.'),
    outcome: AttemptView.shape.outcome,
    expected_end_at: z.iso
      .datetime()
      .nullable()
      .describe(
        'Predicted end of a running attempt, from its progress; null when unknown, and after the end.',
      ),
  })
  .meta({ id: 'TimelineBar', description: 'An attempt of a job on one worker.' });
export type TimelineBar = z.output<typeof TimelineBar>;

const TimelinePrediction = z
  .object({
    job_id: JobId,
    starts_at: z.iso.datetime().describe('Predicted start of the pending job.'),
    ends_at: z.iso
      .datetime()
      .nullable()
      .describe('Predicted end, from the average run time of the last 24 hours; null when that is unknown.'),
    worker_ids: z
      .array(WorkerId)
      .describe('Workers that the prediction assumes. Dispatch may choose others.'),
    basis: z.string().describe('Basis of the prediction.'),
  })
  .meta({ id: 'TimelinePrediction', description: 'Where and when a pending job may start.' });
export type TimelinePrediction = z.output<typeof TimelinePrediction>;

const TimelineJob = z
  .object({
    id: JobId,
    name: z
      .string()
      .nullable()
      .describe('Name that people gave to the job; null to show the name of the config.'),
    config_name: z.string().describe('Name of the config.'),
    status: ShownStatus,
    user: z.string().describe('Owner of the job.'),
  })
  .meta({ id: 'TimelineJob', description: 'A job of the timeline.' });
export type TimelineJob = z.output<typeof TimelineJob>;

const TimelineWorker = z
  .object({
    id: WorkerId,
    name: z.string().nullable().describe('Name of the worker; null when it is unknown.'),
    deleted: z.boolean().describe('Whether the worker was deleted.'),
  })
  .meta({ id: 'TimelineWorker', description: 'A worker of the timeline.' });
export type TimelineWorker = z.output<typeof TimelineWorker>;

/** The timeline shows when each worker ran each job. */
export const timelineApi = {
  read: call({
    method: 'GET',
    path: '/api/timeline',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List the attempts of jobs in a range of time, and the predicted starts of pending jobs',
    query: TimelineQuery,
    reply: z.object({
      bars: z
        .array(TimelineBar)
        .describe('Attempts that overlap the range: first the live ones, then the ended ones, newest first.'),
      predictions: z
        .array(TimelinePrediction)
        .describe(
          `Predicted starts within the range, for the first ${maxPredictions} pending jobs of the queue or for the job of the query.`,
        ),
      jobs: z.array(TimelineJob).describe('Jobs of the bars and predictions.'),
      workers: z.array(TimelineWorker).describe('Workers of the bars and predictions.'),
      is_cut: z
        .boolean()
        .describe(
          `Whether older attempts are missing because the response has ${maxTimelineBars} attempts; request a shorter range.`,
        ),
      now: z.iso.datetime().describe('Time of the server.'),
      as_of_seq: z
        .number()
        .describe('Number of the newest event that the response includes; follow the events after it.'),
    }),
  }),
};
