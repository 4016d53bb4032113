import { expect } from '@playwright/test';
import { type JobOffer, openRig, type Rig, upload } from '../support/upload-bench.ts';
import type { Orchestrator } from './panel.ts';

/** A job attempt that the orchestrator has offered to a worker. */
export type OfferedJob = JobOffer;

/** A worker without a trainer. It sends the reports, metrics and files that a test chooses. */
export interface TrainingRig extends Pick<Rig, 'beat'> {
  /** Submits a job, takes the offer, and reports the job as running. */
  start(name: string): Promise<OfferedJob>;
  /** Completes the running job, if there is one. Then works like `start`. */
  startNext(name: string): Promise<OfferedJob>;
  /** Takes the next offer, and reports its job as running. */
  takeOffer(): Promise<OfferedJob>;
  report(job: OfferedJob, status: string, fields?: object): Promise<void>;
  /** Sends points of curves. `firstNumber`: the number of the first point in the attempt. */
  postPoints(job: OfferedJob, points: readonly Point[], firstNumber?: number): Promise<void>;
  uploadFile(job: OfferedJob, key: string, body: FileBody): Promise<void>;
}

export interface Point {
  readonly step: number;
  readonly values: Readonly<Record<string, number | null>>;
}

type FileBody = string | Uint8Array<ArrayBuffer>;

/** The number of points in one request. */
const pointsPerRequest = 500;

/** Creates and registers a worker. `registration`: additional fields of the registration. */
export async function openTrainingRig(
  orchestrator: Orchestrator,
  name: string,
  registration: object = {},
): Promise<TrainingRig> {
  const rig = await openRig(orchestrator, name, registration);
  let runningJob: OfferedJob | null = null;
  const report = async (job: OfferedJob, status: string, fields: object = {}): Promise<void> => {
    expect((await rig.report(job, status, fields)).ok, status).toBe(true);
  };
  const takeOffer = async (): Promise<OfferedJob> => {
    const job = await rig.nextOffer();
    for (const status of ['starting', 'running']) await report(job, status);
    runningJob = job;
    return job;
  };
  const start = async (config_name: string): Promise<OfferedJob> => {
    await orchestrator.submit({ config_name, config: {} });
    return takeOffer();
  };
  /** Sends points whose `elapsed_ms` increases by one second per point. */
  const postPoints = async (
    { jobId, attemptId }: OfferedJob,
    points: readonly Point[],
    firstNumber = 0,
  ): Promise<void> => {
    const numbered = points.map((point, index) => {
      const number = firstNumber + index;
      return { n: number, elapsed_ms: 1_000 * (number + 1), ...point };
    });
    for (let first = 0; first < numbered.length; first += pointsPerRequest) {
      const response = await fetch(`${orchestrator.url}/api/workers/job/${jobId}/metrics`, {
        method: 'POST',
        headers: { 'x-worker-token': rig.token, 'content-type': 'application/json' },
        body: JSON.stringify({
          attempt_id: attemptId,
          points: numbered.slice(first, first + pointsPerRequest),
        }),
      });
      expect(response.status, await response.text()).toBe(200);
    }
  };
  return {
    beat: rig.beat,
    report,
    takeOffer,
    postPoints,
    async uploadFile({ token }, key, body) {
      expect((await upload(orchestrator.url, token, key, { body })).status, key).toBe(200);
    },
    start,
    async startNext(config_name) {
      if (runningJob !== null) await report(runningJob, 'completed', { exit_code: 0 });
      return start(config_name);
    },
  };
}
