import { JobView } from '../../../protocol/job.ts';

/** A job as the orchestrator shows it, with what matters to a test. */
export const jobView = (given: Readonly<Record<string, unknown>>): JobView =>
  JobView.parse({
    id: 'j_1',
    job_id: 'j_1',
    status: 'pending',
    config_name: 'digits',
    target: 'auto',
    worker_labels: {},
    gpu_count: 0,
    priority: 10,
    priority_name: 'normal',
    position: null,
    worker_id: null,
    worker_name: null,
    attempt: 0,
    max_attempts: 4,
    queued_at: '2026-01-02T03:04:05.678Z',
    started_at: null,
    completed_at: null,
    progress: null,
    error_message: null,
    cause: null,
    reason: null,
    timeout_s: null,
    retry_on: [],
    on_lost_contact: 'continue',
    hold: null,
    ...given,
  });
