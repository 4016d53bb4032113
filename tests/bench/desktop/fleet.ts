import { AttemptId, JobId } from '../../../protocol/ids.ts';
import { createShipper, type Shipper } from '../../support/log-bench.ts';
import { openConnection } from '../http-connection.ts';
import { adminHeadersOf } from '../program.ts';
import { createRig, openStreams, type Rig } from '../rigs.ts';
import { createWorkers, type Offer, report, submit } from '../workers.ts';
import type { MeasuredApp } from './app.ts';

const workerCount = 20;
/**
 * Interval in ms between two heartbeats. The workers take turns. Together, they send as many heartbeats as a thousand idle
 * workers.
 */
const heartbeatEveryMs = 20;
const progressEveryMs = 1_000;

/** A fleet in which each worker runs a job and reports progress once a second. */
export interface BusyFleet {
  /** Uploads log output of the job `loggedJob`. */
  readonly log: Shipper;
  readonly loggedJob: string;
  /** Returns the response times of all heartbeats since the last call, in ms. */
  takeTimes(): readonly number[];
  close(): void;
}

export async function startBusyFleet(app: Pick<MeasuredApp, 'url' | 'folder'>): Promise<BusyFleet> {
  const offers = new Map<Rig, Offer>();
  const allBusy = Promise.withResolvers<void>();
  const claim = async (offer: Offer, rig: Rig): Promise<void> => {
    for (const status of ['starting', 'running']) await report(rig.connection, offer, status);
    offers.set(rig, offer);
    if (offers.size === workerCount) allBusy.resolve();
  };
  const rigs = (await createWorkers(app, workerCount)).map(identity =>
    createRig(app, identity, { onOffer: (offer, rig) => void claim(offer, rig).catch(allBusy.reject) }),
  );
  await openStreams(rigs);
  const submitter = openConnection(app.url, adminHeadersOf(app));
  for (let mark = 0; mark < workerCount; mark += 1) await submit(submitter, mark);
  await allBusy.promise;
  submitter.close();
  const [first] = rigs;
  const offer = first === undefined ? undefined : offers.get(first);
  if (first === undefined || offer === undefined) throw new Error('No worker has a job.');
  const calls = startCalls(rigs, offers);
  const jobId = JobId.parse(offer.job_id);
  const token = first.identity.headers['x-worker-token'] ?? '';
  return {
    log: createShipper(
      app.url,
      { token },
      {
        jobId,
        attemptId: AttemptId.parse(offer.attempt_id),
      },
    ),
    loggedJob: jobId,
    takeTimes: calls.takeTimes,
    close() {
      calls.stop();
      for (const rig of rigs) rig.close();
    },
  };
}

function startCalls(
  rigs: readonly Rig[],
  offers: ReadonlyMap<Rig, Offer>,
): { readonly takeTimes: () => readonly number[]; readonly stop: () => void } {
  let times: number[] = [];
  let sent = 0;
  const post = (rig: Rig, path: string, body: object): Promise<unknown> =>
    rig.connection.call(path, JSON.stringify(body));
  const beat = (): void => {
    const rig = rigs[sent % rigs.length];
    const offer = rig && offers.get(rig);
    sent += 1;
    if (rig === undefined || offer === undefined) return;
    const body = {
      worker_id: rig.identity.id,
      status: 'running',
      current_job_id: offer.job_id,
      attempt_id: offer.attempt_id,
    };
    const startedAt = performance.now();
    post(rig, '/api/workers/heartbeat', body)
      .then(() => times.push(performance.now() - startedAt))
      .catch(() => {});
  };
  let percent = 0;
  const reportProgress = (): void => {
    percent = (percent + 1) % 100;
    for (const [rig, { job_id: job, attempt_id }] of offers)
      post(rig, `/api/workers/job/${job}/status`, {
        status: 'running',
        attempt_id,
        progress: percent,
      }).catch(() => {});
  };
  const timers = [setInterval(beat, heartbeatEveryMs), setInterval(reportProgress, progressEveryMs)];
  return {
    takeTimes() {
      const taken = times;
      times = [];
      return taken;
    },
    stop: () => timers.forEach(clearInterval),
  };
}
