import type { JobId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import {
  type Heartbeat,
  type HeartbeatReply,
  protocolVersion,
  type RegisterReply,
  type Registration,
} from '../../../../protocol/worker-api.ts';
import { type Core, lastContact, recordWorkerEvent } from '../../core.ts';
import { command, commandWithAnswer, enqueueCommand } from '../command.ts';
import { type Actor, asWorker, isEphemeral, type LiveJob, type Worker } from '../../model.ts';
import type { AttemptNode } from '../../node-model.ts';
import type { Read, Tx, WorkerStream } from '../../ports/index.ts';
import {
  type Claimed,
  reconcileAbsence,
  reconcileClaim,
  type Verdict,
  troublesAtRegistration,
  recordTroubles,
} from './reconcile.ts';
import { findChanges, recordClosing, storeChanges } from './heartbeat-changes.ts';
import { repeatOffer, sendCancel } from '../offers.ts';
import { applyEvent, release, markOnline } from '../transitions.ts';
import {
  greetNode,
  isNodeNamed,
  nodeOrders,
  reconcileNode,
  reconcileNodeAbsence,
  withdrawNodeOffer,
} from './node-calls.ts';
import {
  knowsNewCommands,
  registersWhenStreamEnds,
  repeatsCancelAsAbandon,
  reportsAbandonedEndLate,
} from '../../v1-agent.ts';
import { notePower, type RunningWork } from '../../memory/energy-book.ts';
import { noteJoined, noteLeft } from '../pools/launches.ts';
import { settleUpdate, updateOrderFor } from './updates.ts';
import type { ProgressBook } from '../jobs/reports.ts';

const workerDeleted = refuse('token_invalid', 'Invalid token: the worker was deleted');

/** Calls of workers. `id`: the worker of the caller's token. A user may have deleted this worker since the token check. */
export const createWorkerCalls = (core: Core, progress: ProgressBook) => ({
  register: (id: Worker['id'], reported: Registration, address: string | null = null) =>
    register(core, id, reported, address),
  heartbeat: (id: Worker['id'], beat: Heartbeat) => takeHeartbeat(core, progress, id, beat),
  silenceOf: (id: Worker['id']) => silenceOf(core, id),
  disconnect: (id: Worker['id']) => disconnect(core, id),
  openStream: (id: Worker['id'], stream: WorkerStream) => openStream(core, id, stream),
});

async function register(
  core: Core,
  id: Worker['id'],
  reported: Registration,
  address: string | null,
): Promise<Outcome<RegisterReply>> {
  // Checked before this call counts as contact, and again inside the transaction.
  const before = core.store.worker(id);
  const duplicate = before !== null && isDuplicate(core, before, reported, address);
  if (before !== null && !duplicate) core.connections.heard(id, core.clock.mono());
  return command(core, tx => {
    const stored = tx.worker(id);
    if (stored === null) return workerDeleted;
    if (duplicate || isReplaced(stored, before)) {
      if (isDuplicate(core, stored, reported, address))
        return rejectDuplicate(core, tx, stored, reported, address);
      core.connections.heard(id, core.clock.mono());
    }
    const order = registrationOrder(stored, reported);
    if (order === 'outdated') return accept(registerReply(core, stored, null, { kind: 'nothing' }));
    const worker = order === 'repeated' ? stored : storeRegistration(core, tx, stored, reported, address);
    noteJoined(core, tx, id);
    // A repeated registration may be older than the worker's current offer, so it may lack the job of that offer.
    if (order === 'next') reconcileUnnamedJob(core, tx, worker, reported);
    const verdict = reconcileRegistered(core, tx, worker, reported);
    delayNextJob(core, tx, worker, verdict);
    return accept(registerReply(core, worker, reported.currentJobId, verdict));
  });
}

/** Handles a heartbeat. Most heartbeats only confirm the stored facts, and are answered without a transaction. */
async function takeHeartbeat(
  core: Core,
  progress: ProgressBook,
  id: Worker['id'],
  beat: Heartbeat,
): Promise<Outcome<HeartbeatReply>> {
  core.connections.heard(id, core.clock.mono());
  const worker = core.store.worker(id);
  if (worker === null) return workerDeleted;
  if (worker.agent === null)
    return refuse('not_registered', 'The worker must register before it sends heartbeats');
  const live = core.store.liveJobOf(id);
  const node = core.store.heldNodeOf(id);
  noteHeartbeatLoad(core, worker, { beat, live, node });
  const jobId = beat.current_job_id ?? null;
  const isNode = isNodeNamed(node, beat);
  const isNamed = isNode || (live !== null && namesAttempt(live, beat));
  if (isNamed) core.connections.clearAbsence(id);
  const isLost = !isNamed && shouldName(live, node) && noticeAbsence(core, worker);
  if (isNamed && live !== null && beat.job_progress) progress.note(live.id, beat.job_progress);
  const isExpected = jobId === null || isNode || confirmsStoredJob(live, beat);
  const isUnchanged = worker.gone === null && !isLost && isExpected;
  const changes = findChanges(core, worker, beat);
  const orders = { notice: core.launches.noticeFor(id, core.time.now()), ...updateOrderFor(worker) };
  const replyTo = (read: Read, verdict: Verdict): HeartbeatReply => ({
    ...heartbeatReply(core, read, id, verdict),
    ...orders,
    abandon_job: abandoned(verdict, jobId),
  });
  if (isUnchanged && changes === null) return accept(replyTo(core.store, { kind: 'nothing' }));
  const apply = (tx: Tx): Verdict | null => {
    if (changes !== null) storeChanges(core, tx, id, changes);
    const present = tx.worker(id);
    if (present === null) return null;
    return isUnchanged ? { kind: 'nothing' } : reconcileHeartbeat(core, tx, present, beat, isLost);
  };
  // Reply after the dispatch, which may have given the worker another job.
  return commandWithAnswer(core, apply, (tx, verdict) =>
    verdict === null ? workerDeleted : accept(replyTo(tx, verdict)),
  );
}

/** Applies a heartbeat that differs from the stored facts. `isLost`: the worker has lost the job that it should name. */
function reconcileHeartbeat(
  core: Core,
  tx: Tx,
  worker: Worker,
  { current_job_id: jobId = null, attempt_id: attemptId = null }: Heartbeat,
  isLost: boolean,
): Verdict {
  markOnline(core, tx, worker);
  // SimpleTuner's agent registers again instead, because `noticeAbsence` has ended its stream.
  if (isLost && knowsNewCommands(worker)) reconcileLost(core, tx, worker);
  const verdict: Verdict =
    jobId === null ? { kind: 'nothing' } : reconcileReported(core, tx, worker, { jobId, attemptId });
  delayNextJob(core, tx, worker, verdict);
  return verdict;
}

/** Returns the milliseconds since the last contact, or since the start of the grace period; 0 if neither is known. */
function silenceOf({ clock, connections }: Core, id: Worker['id']): number {
  const now = clock.mono();
  return now - (connections.of(id)?.contactAt ?? now);
}

interface HeartbeatLoad extends RunningWork {
  readonly beat: Heartbeat;
}

function noteHeartbeatLoad(core: Core, worker: Worker, { beat, ...running }: HeartbeatLoad): void {
  const {
    gpu_utilization: gpuUtilization = null,
    vram_used_gb: vramUsedGb = null,
    gpu_figures: gpus = [],
  } = beat;
  const namesJob = (beat.current_job_id ?? null) !== null;
  core.connections.noteLoad(worker.id, { gpuUtilization, vramUsedGb, gpus, namesJob });
  notePower(core, worker, gpus, running);
}

/** Opens the worker's stream, which replaces an older one. The caller must call the returned function when the stream ends. */
function openStream(core: Core, id: Worker['id'], stream: WorkerStream): () => void {
  core.connections.heard(id, core.clock.mono());
  core.connections.open(id, stream, core.clock.mono());
  enqueueCommand(core, tx => greet(core, tx, id));
  return () => {
    if (!core.connections.closed(id, stream, core.clock.mono())) return;
    core.enqueue(tx => {
      if (tx.worker(id) !== null) recordWorkerEvent(core, tx, 'worker.stream_closed', id, asWorker(id));
    });
  };
}

async function disconnect(core: Core, id: Worker['id']): Promise<Outcome<{ readonly success: true }>> {
  core.connections.hangUp(id);
  return command(core, tx => {
    const worker = tx.worker(id);
    if (worker === null) return workerDeleted;
    markOffline(core, tx, worker, 'goodbye', asWorker(id));
    noteLeft(core, tx, id);
    return accept({ success: true as const });
  });
}

function storeRegistration(
  core: Core,
  tx: Tx,
  stored: Worker,
  reported: Registration,
  address: string | null,
): Worker {
  // SimpleTuner's agent does not report restarts. It counts as restarted if it was offline.
  const restarted =
    reported.startId === null ? stored.gone !== null : reported.startId !== stored.agent?.startId;
  const plan = troublesAtRegistration(core, stored, reported.gpuTroubles);
  const worker: Worker = {
    ...stored,
    gone: null,
    lastContactAt: core.time.now(),
    // A restarted agent has run no job yet. An agent that only reconnects keeps the flag.
    served: stored.served && !restarted,
    agent: {
      capabilities: reported.capabilities,
      host: reported.host,
      persistent: reported.persistent ?? stored.type === 'persistent',
      labels: reported.labels ?? stored.agent?.labels ?? {},
      protocol: reported.protocol,
      instanceId: reported.instanceId,
      startId: reported.startId,
      registrationNo: reported.registrationNo,
      address,
      agentVersion: reported.agentVersion,
      allowedConfigKeys: reported.allowedConfigKeys,
      trainers: reported.trainers,
      outputs: reported.outputs,
      datasets: reported.datasets,
      gpuTroubles: plan.troubles,
      closed: reported.closed,
      isMultiNode: reported.isMultiNode,
      program: reported.program,
      fetchesInputs: reported.fetchesInputs,
      registeredAt: core.clock.wall(),
    },
  };
  tx.updateWorker(worker);
  tx.afterCommit(() => {
    core.deadlines.removal.delete(worker.id);
    core.deadlines.firstContact.delete(worker.id);
  });
  core.connections.clearAbsence(worker.id);
  const actor = { type: 'worker', id: worker.id, address } as const;
  recordWorkerEvent(core, tx, 'worker.registered', worker.id, actor, {
    host: reported.host,
    protocol: reported.protocol,
  });
  core.connections.noteDoubted(worker.id, plan.doubted);
  recordTroubles(core, tx, worker.id, plan);
  if (JSON.stringify(reported.closed) !== JSON.stringify(stored.agent?.closed ?? null))
    recordClosing(core, tx, worker.id, actor, reported.closed);
  return settleUpdate(core, tx, worker);
}

/** Identifies the agent's machine by its instance id or, without one, by its address and host name. */
const machineOf = (
  { instanceId, host }: Pick<Registration, 'instanceId' | 'host'>,
  address: string | null,
): string => instanceId ?? JSON.stringify([address, host]);

/** Whether another machine uses the same token at present. The machine that was in contact recently keeps the token. */
function isDuplicate(core: Core, stored: Worker, reported: Registration, address: string | null): boolean {
  const metAt = core.connections.metAt(stored.id);
  if (stored.agent === null || stored.gone !== null || metAt === null) return false;
  if (core.clock.mono() - metAt >= core.times.incumbentMs) return false;
  return machineOf(reported, address) !== machineOf(stored.agent, stored.agent.address);
}

/**
 * Compares a registration with the stored one of the same agent start. A connection may deliver repeated requests in any
 * order. `repeated`: the same registration. `outdated`: an earlier one, which no longer describes the agent.
 */
function registrationOrder(
  { agent, gone: left }: Worker,
  { startId, registrationNo }: Registration,
): 'next' | 'repeated' | 'outdated' {
  if (startId === null || startId !== agent?.startId || registrationNo === null) return 'next';
  const newest = agent.registrationNo ?? 0;
  if (registrationNo > newest) return 'next';
  return registrationNo === newest && left === null ? 'repeated' : 'outdated';
}

/** Whether another machine has registered as this worker since the caller read `before`. */
const isReplaced = ({ agent }: Worker, before: Worker | null): boolean =>
  agent !== null &&
  (!before?.agent || machineOf(agent, agent.address) !== machineOf(before.agent, before.agent.address));

function rejectDuplicate(
  core: Core,
  tx: Tx,
  stored: Worker,
  reported: Registration,
  address: string | null,
): ReturnType<typeof refuse> {
  core.connections.noteDuplicate(stored.id, { at: core.clock.wall(), host: reported.host, address });
  const actor = { type: 'worker', id: stored.id, address } as const;
  recordWorkerEvent(core, tx, 'worker.duplicate', stored.id, actor, { host: reported.host });
  return refuse(
    'duplicate_registration',
    `Another machine (${stored.agent?.host ?? 'of unknown name'}) uses the token of worker ${stored.name} at present: ` +
      'add a separate worker for this machine',
  );
}

/**
 * Called for a heartbeat that does not name the worker's job. Returns whether the worker has lost the job. A single such
 * heartbeat may have crossed an offer or a report. So a second one is required, at least `absentMs` later.
 */
function noticeAbsence(core: Core, worker: Worker): boolean {
  const now = core.clock.mono();
  const since = core.connections.noteAbsence(worker.id, now);
  if (now - since < core.times.absentMs) return false;
  if (registersWhenStreamEnds(worker)) {
    core.connections.clearAbsence(worker.id);
    core.connections.hangUp(worker.id);
  }
  return true;
}

/** Handles a registration that does not name the worker's stored job: the trainer of that job is gone. */
function reconcileUnnamedJob(core: Core, tx: Tx, worker: Worker, reported: Registration): void {
  const live = tx.liveJobOf(worker.id);
  const node = tx.heldNodeOf(worker.id);
  const expected = live === null ? node : { jobId: live.id, attemptId: live.attempt.id };
  const isNamed =
    expected?.jobId === reported.currentJobId &&
    (reported.currentAttemptId ?? expected?.attemptId) === expected?.attemptId;
  if (!isNamed) reconcileLost(core, tx, worker);
}

const reconcileReported = (core: Core, tx: Tx, worker: Worker, reported: Claimed): Verdict =>
  reconcileNode(core, tx, worker, reported) ?? reconcileClaim(core, tx, worker, reported);

function reconcileLost(core: Core, tx: Tx, worker: Worker): void {
  reconcileNodeAbsence(core, tx, worker);
  reconcileAbsence(core, tx, worker);
}

/** Delays the next job of a worker whose agent reports the end of an abandoned job late. */
function delayNextJob(core: Core, tx: Tx, worker: Worker, verdict: Verdict): void {
  if (verdict.kind !== 'abandon' || !reportsAbandonedEndLate(worker)) return;
  const { settleAfterStopMs } = core.times;
  core.connections.settle(worker.id, core.clock.mono() + settleAfterStopMs);
  tx.afterCommit(() => core.later(settleAfterStopMs));
}

const reconcileRegistered = (
  core: Core,
  tx: Tx,
  worker: Worker,
  { currentJobId, currentAttemptId }: Registration,
): Verdict =>
  currentJobId === null
    ? { kind: 'nothing' }
    : reconcileReported(core, tx, worker, { jobId: currentJobId, attemptId: currentAttemptId });

function registerReply(core: Core, worker: Worker, reported: JobId | null, verdict: Verdict): RegisterReply {
  const { times } = core;
  const keysToReport = core.trainerKeys.keysToRequest(worker.agent?.trainers ?? [], core.clock.mono());
  return {
    worker_id: worker.id,
    name: worker.name,
    sse_url: `/api/workers/stream?worker_id=${worker.id}`,
    resume_job:
      verdict.kind === 'resume'
        ? {
            job_id: verdict.job.id,
            config_name: verdict.job.spec.configName,
            status: verdict.job.status,
            attempt_id: verdict.job.attempt.id,
          }
        : null,
    abandon_job:
      verdict.kind === 'cancel' && repeatsCancelAsAbandon(worker) ? reported : abandoned(verdict, reported),
    cancel: cancelIn(verdict),
    protocol: protocolVersion,
    heartbeat_interval_s: times.heartbeatMs / 1000,
    heartbeat_timeout_s: times.offlineAfterMs / 1000,
    stop_grace_s: times.stopGraceMs / 1000,
    stream_silence_s: times.streamSilenceMs / 1000,
    allocation: core.launches.allocationOf(worker.id, core.time.now()),
    ...(keysToReport.length > 0 && { trainer_keys_wanted: [...keysToReport] }),
    ...updateOrderFor(worker),
  };
}

const abandoned = (verdict: Verdict, reported: JobId | null): JobId | null =>
  verdict.kind === 'abandon' ? reported : null;

/** Whether heartbeats of the worker should name its job. False while the offer may still be on its way. */
const shouldName = (live: LiveJob | null, node: AttemptNode | null): boolean =>
  live === null ? node !== null && node.state !== 'offered' : live.status !== 'dispatched';

const namesAttempt = (live: LiveJob, beat: Heartbeat): boolean =>
  live.id === beat.current_job_id && (!beat.attempt_id || beat.attempt_id === live.attempt.id);

/** Whether the heartbeat names the stored job in a status that needs no change. */
function confirmsStoredJob(live: LiveJob | null, beat: Heartbeat): boolean {
  if (live === null || !namesAttempt(live, beat)) return false;
  return live.status === 'starting' || live.status === 'running' || live.status === 'cancelling';
}

const cancelIn = (verdict: Verdict): HeartbeatReply['cancel'] =>
  verdict.kind === 'cancel' ? { job_id: verdict.jobId, attempt_id: verdict.attemptId } : null;

function heartbeatReply(core: Core, read: Read, id: Worker['id'], verdict: Verdict): HeartbeatReply {
  const live = read.liveJobOf(id);
  const { cancel, rendezvous } = nodeOrders(read, id);
  const cancelOfJob = live?.status === 'cancelling' ? { job_id: live.id, attempt_id: live.attempt.id } : null;
  return {
    success: true,
    cancel: cancelIn(verdict) ?? cancelOfJob ?? cancel,
    abandon_job: null,
    heartbeat_interval_s: core.times.heartbeatMs / 1000,
    ...(rendezvous && { rendezvous }),
  };
}

/** Called when the worker's stream opens. Repeats a command that the worker may have missed: an offer, cancel or shutdown. */
export function greet(core: Core, tx: Tx, id: Worker['id']): void {
  const worker = tx.worker(id);
  if (worker === null) return;
  markOnline(core, tx, worker);
  recordWorkerEvent(core, tx, 'worker.connected', id, asWorker(id));
  const live = tx.liveJobOf(id);
  if (live?.status === 'dispatched') repeatOffer(core, tx, live);
  else if (live?.status === 'cancelling' && knowsNewCommands(worker)) sendCancel(core, tx, live);
  else greetNodeOrRelease(core, tx, id);
}

function greetNodeOrRelease(core: Core, tx: Tx, id: Worker['id']): void {
  const node = tx.heldNodeOf(id);
  if (node === null) release(core, tx, id);
  else greetNode(core, tx, node);
}

/** Marks the worker as offline. Its job waits for the worker until the takeover. */
export function markOffline(
  core: Core,
  tx: Tx,
  worker: Worker,
  why: 'goodbye' | 'silent',
  actor: Actor,
): void {
  if (worker.gone !== null) return;
  tx.updateWorker({ ...worker, gone: why, lastContactAt: lastContact(core, worker) });
  if (isEphemeral(worker)) {
    const at = core.clock.mono() + core.times.removalMs;
    tx.afterCommit(() => core.deadlines.removal.set(worker.id, at));
  }
  recordWorkerEvent(core, tx, 'worker.offline', worker.id, actor, { why });
  if (why === 'goodbye') withdrawNodeOffer(core, tx, worker);
  const live = tx.liveJobOf(worker.id);
  // A worker that disconnects will not accept its offer. A silent worker may still have received its offer.
  const type = why === 'goodbye' && live?.status === 'dispatched' ? 'withdraw' : 'silence';
  if (live !== null) applyEvent(core, tx, live, { type }, actor);
  tx.afterCommit(() => core.lookWithin(0));
}
