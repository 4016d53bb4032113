import type { WorkerId } from '../../../protocol/ids.ts';
import type { OfferedInput } from '../../../protocol/job-inputs.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { Core } from '../core.ts';
import type { AttemptInput } from '../input-model.ts';
import { type Attempt, gpusFor, type Job, type LiveJob } from '../model.ts';
import type { AttemptNode } from '../node-model.ts';
import type { Tx } from '../ports/index.ts';
import { rendezvousOf, wantsNodes } from '../rules/attempt-nodes.ts';
import { pathIn } from '../rules/input-rules.ts';
import { generationOf } from './files/outstanding.ts';

/**
 * Sends an offer again; if the worker is in a cooldown, after the cooldown. Does nothing if the offer is accepted or sent
 * again during the cooldown.
 */
export function repeatOffer(core: Core, tx: Tx, job: LiveJob): void {
  const { id, workerId } = job.attempt;
  const settlesInMs = (core.connections.of(workerId)?.settledAt ?? 0) - core.clock.mono();
  if (settlesInMs <= 0) return sendOffer(core, tx, job);
  const sent = core.connections.offerOf(workerId)?.sent;
  return tx.afterCommit(() =>
    core.later(settlesInMs, laterTx => {
      const live = laterTx.liveJobOf(workerId);
      const isUnchanged = live?.attempt.id === id && core.connections.offerOf(workerId)?.sent === sent;
      if (isUnchanged && live.status === 'dispatched') repeatOffer(core, laterTx, live);
    }),
  );
}

/** Sends the offer to the first worker of the attempt after the commit. */
export function sendOffer(core: Core, tx: Tx, job: Job): void {
  const { attempt } = job;
  if (attempt === null) throw new Error(`job ${job.id} has no attempt to offer`);
  const nodes = wantsNodes(job) ? tx.nodesOf(attempt.id) : [];
  send(core, tx, attempt.workerId, commandFor(core, tx, job, attempt, { rank: 0, count: nodes.length }));
}

/** Sends the offer to another worker of the attempt after the commit. */
export function sendNodeOffer(core: Core, tx: Tx, job: LiveJob, { workerId, rank }: AttemptNode): void {
  const { length: count } = tx.nodesOf(job.attempt.id);
  send(core, tx, workerId, commandFor(core, tx, job, job.attempt, { rank, count }));
}

type Offer = Extract<WorkerCommand, { type: 'job_submit' }>;

function send(core: Core, tx: Tx, workerId: WorkerId, command: Offer): void {
  tx.afterCommit(() => {
    const now = core.clock.mono();
    core.connections.sendOffer(workerId, command, now, now + core.times.withdrawOfferMs);
    core.lookWithin(core.times.repeatOfferMs[0] ?? core.times.withdrawOfferMs);
  });
}

const resumeOf = ({ resumed }: Attempt) =>
  resumed === null || resumed.checkpoint === null
    ? null
    : { checkpoint: resumed.checkpoint, step: resumed.step };

const offeredInput = ({ name, key, files }: AttemptInput): OfferedInput => ({
  name,
  path: pathIn({ key }, key),
  files: files.map(file => ({ path: pathIn({ key }, file.key), bytes: file.bytes, sha256: file.sha256 })),
});

function commandFor(
  core: Core,
  tx: Tx,
  job: Job,
  attempt: Attempt,
  node: { readonly rank: number; readonly count: number },
): Offer {
  const payload = tx.payload(job.id);
  const gpus = gpusFor(job.spec);
  if (payload === null) throw new Error(`job ${job.id} has no config to offer`);
  return {
    type: 'job_submit',
    job_id: job.id,
    attempt_id: attempt.id,
    config_name: job.spec.configName,
    config: payload.config,
    dataloader: payload.dataloader,
    files: { ...payload.files },
    data: [...(payload.data ?? [])],
    ...(attempt.inputs && { inputs: attempt.inputs.map(offeredInput) }),
    gpus: gpus.length === 0 ? null : gpus,
    upload_endpoint: '/api/cloud/storage',
    ...(core.uploadTokenOf && {
      upload_token: core.uploadTokenOf(job.id, attempt.id, generationOf(tx, attempt.workerId)),
    }),
    provider: null,
    hf_token: null,
    on_lost_contact: job.spec.onLostContact,
    resume: resumeOf(attempt),
    ...(node.count > 1 && { node }),
  };
}

/**
 * Sends a cancel after the commit, only on a stream that is already open. A later delivery could stop another job,
 * because SimpleTuner's agent stops any job that it runs when a cancel arrives.
 */
export function sendCancel(core: Core, tx: Tx, job: LiveJob): void {
  const { id, workerId } = job.attempt;
  tx.afterCommit(() => {
    core.connections.send(workerId, { type: 'job_cancel', job_id: job.id, attempt_id: id });
  });
}

/** Sends a cancel to the worker of a node after the commit. */
export function sendNodeCancel(core: Core, tx: Tx, { workerId, jobId, attemptId }: AttemptNode): void {
  tx.afterCommit(() => {
    // Another command of the same commit may have freed the worker.
    if (core.store.heldNodeOf(workerId)?.attemptId !== attemptId) return;
    core.connections.send(workerId, { type: 'job_cancel', job_id: jobId, attempt_id: attemptId });
  });
}

/** Returns the address and port to which the job's processes connect; null unless all of its workers are ready. */
export function rendezvousFor(tx: Pick<Tx, 'nodesOf' | 'worker'>, job: LiveJob) {
  if (!wantsNodes(job)) return null;
  const address = tx.worker(job.attempt.workerId)?.agent?.address ?? null;
  const rendezvous = rendezvousOf(tx.nodesOf(job.attempt.id), address);
  return rendezvous && { job_id: job.id, attempt_id: job.attempt.id, ...rendezvous };
}

/**
 * Tells all workers of the attempt to start their trainers, if all of them are ready. Replies to heartbeats repeat this
 * order.
 */
export function sendRendezvous(core: Core, tx: Tx, job: LiveJob): void {
  const rendezvous = rendezvousFor(tx, job);
  if (rendezvous === null) return;
  for (const { workerId } of tx.nodesOf(job.attempt.id))
    tx.afterCommit(() => core.connections.send(workerId, { type: 'job_rendezvous', ...rendezvous }));
}
