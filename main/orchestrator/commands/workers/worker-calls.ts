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
  keepTroubles,
  noticeTroubles,
  recordTroubles,
} from './reconcile.ts';
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
import type { Closed } from '../../../../protocol/reports.ts';
import { noteJoined, noteLeft } from '../pools/launches.ts';
import type { ProgressBook } from '../jobs/reports.ts';

const gone = refuse('token_invalid', 'Invalid token: the worker was deleted');

/** Calls of workers. Each takes the worker of the caller's token, which may have been deleted since. */
export function createWorkerCalls(core: Core, progress: ProgressBook) {
  const register = async (
    id: Worker['id'],
    reported: Registration,
    address: string | null = null,
  ): Promise<Outcome<RegisterReply>> => {
    // Checked before this call counts as contact, and again inside the transaction.
    const before = core.store.worker(id);
    const duplicate = before !== null && isDuplicate(core, before, reported, address);
    if (before !== null && !duplicate) core.connections.heard(id, core.clock.mono());
    return command(core, tx => {
      const known = tx.worker(id);
      if (known === null) return gone;
      if (duplicate || isReplaced(known, before)) {
        if (isDuplicate(core, known, reported, address))
          return rejectDuplicate(core, tx, known, reported, address);
        core.connections.heard(id, core.clock.mono());
      }
      const order = registrationOrder(known, reported);
      if (order === 'outdated') return accept(registerReply(core, known, null, { kind: 'nothing' }));
      const worker = order === 'repeated' ? known : storeRegistration(core, tx, known, reported, address);
      noteJoined(core, tx, id);
      // A copy of an earlier registration cannot name a job that was offered since.
      if (order === 'next') reconcileUnnamedJob(core, tx, worker, reported);
      const verdict = reconcileRegistered(core, tx, worker, reported);
      delayNextJob(core, tx, worker, verdict);
      return accept(registerReply(core, worker, reported.currentJobId, verdict));
    });
  };

  const heartbeat = async (id: Worker['id'], beat: Heartbeat): Promise<Outcome<HeartbeatReply>> => {
    core.connections.heard(id, core.clock.mono());
    const worker = core.store.worker(id);
    if (worker === null) return gone;
    if (worker.agent === null)
      return refuse('not_registered', 'The worker must register before it sends heartbeats');
    const live = core.store.liveJobOf(id);
    const node = core.store.heldNodeOf(id);
    noteHeartbeatLoad(core, worker, { beat, live, node });
    const jobId = beat.current_job_id ?? null;
    const interval = core.times.heartbeatMs / 1000;
    const isNode = isNodeNamed(node, beat);
    const isNamed = isNode || (live !== null && namesAttempt(live, beat));
    const isMissing = !isNamed && shouldName(live, node) && noticeAbsence(core, worker);
    if (isNamed) core.connections.clearAbsence(id);
    const isUnchanged =
      worker.gone === null && !isMissing && (jobId === null || isNode || confirmsStoredJob(live, beat));
    if (isNamed && live !== null && beat.job_progress) progress.note(live.id, beat.job_progress);
    const changes = changesIn(core, worker, beat);
    const notice = core.launches.noticeFor(id, core.time.now());
    if (isUnchanged && changes === null)
      return accept({ ...heartbeatReply(core.store, id, { kind: 'nothing' }, interval), notice });
    const applyHeartbeat = (tx: Tx): Verdict | null => {
      if (changes !== null) keepChanges(core, tx, id, changes);
      const present = tx.worker(id);
      if (present === null) return null;
      if (isUnchanged) return { kind: 'nothing' };
      markOnline(core, tx, present);
      // Trainyard's agent has certainly lost it. SimpleTuner's agent is made to register instead, by the end of its stream.
      if (isMissing && knowsNewCommands(present)) reconcileLost(core, tx, present);
      const verdict: Verdict =
        jobId === null
          ? { kind: 'nothing' }
          : reconcileReported(core, tx, present, { jobId, attemptId: beat.attempt_id ?? null });
      delayNextJob(core, tx, present, verdict);
      return verdict;
    };
    // The reply names the job that the worker has now, which the dispatch may just have changed.
    return commandWithAnswer(core, applyHeartbeat, (tx, verdict) =>
      verdict === null
        ? gone
        : accept({
            ...heartbeatReply(tx, id, verdict, interval),
            notice,
            abandon_job: abandoned(verdict, jobId),
          }),
    );
  };

  return {
    register,
    heartbeat,
    silenceOf: (id: Worker['id']) => silenceOf(core, id),
    disconnect: (id: Worker['id']) => disconnect(core, id),
    openStream: (id: Worker['id'], stream: WorkerStream) => openStream(core, id, stream),
  };
}

/** Milliseconds since the worker was last heard, or since its grace period started; 0 if neither is known. */
function silenceOf({ clock, connections }: Core, id: Worker['id']): number {
  const now = clock.mono();
  return now - (connections.of(id)?.contactAt ?? now);
}

/** Returns the facts of a heartbeat that differ from the stored ones; null if none differs. */
function changesIn(core: Core, worker: Worker, beat: Heartbeat) {
  const troubles = noticeTroubles(core, worker, beat.gpu_troubles);
  const datasets = changedDatasets(core, worker, beat.datasets);
  const closed = changedClosing(core, worker, beat.closed);
  const isNone = troubles === null && datasets === null && closed === undefined;
  return isNone ? null : { troubles, datasets, closed };
}

function keepChanges(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  { troubles, datasets, closed }: NonNullable<ReturnType<typeof changesIn>>,
): void {
  if (troubles !== null) keepTroubles(core, tx, id, troubles);
  if (datasets !== null) keepDatasets(tx, id, datasets);
  if (closed !== undefined) keepClosing(core, tx, id, closed);
}

/** Returns null when there is nothing to store, or when the disk refuses changes: heartbeats must work even then. */
function changedDatasets(
  core: Core,
  { agent }: Worker,
  reported: Heartbeat['datasets'],
): readonly string[] | null {
  if (!reported || agent === null || !core.store.acceptsWrites()) return null;
  return reported.join() === agent.datasets?.join() ? null : reported;
}

function keepDatasets(tx: Tx, id: Worker['id'], datasets: readonly string[]): void {
  const worker = tx.worker(id);
  if (worker !== null && worker.agent !== null)
    tx.updateWorker({ ...worker, agent: { ...worker.agent, datasets } });
}

/** Returns undefined when nothing has changed, or when the disk refuses changes: heartbeats must work even then. */
function changedClosing(
  core: Core,
  { agent }: Worker,
  reported: Heartbeat['closed'],
): Closed | null | undefined {
  if (agent === null || reported === undefined || !core.store.acceptsWrites()) return undefined;
  return JSON.stringify(reported) === JSON.stringify(agent.closed ?? null) ? undefined : reported;
}

function keepClosing(core: Core, tx: Tx, id: Worker['id'], closed: Closed | null): void {
  const worker = tx.worker(id);
  if (worker === null || worker.agent === null) return;
  tx.updateWorker({ ...worker, agent: { ...worker.agent, closed } });
  recordClosing(core, tx, id, asWorker(id), closed);
}

function recordClosing(core: Core, tx: Tx, id: Worker['id'], actor: Actor, closed: Closed | null): void {
  const type = closed === null ? 'worker.opened' : 'worker.closed';
  recordWorkerEvent(core, tx, type, id, actor, { reason: closed?.reason ?? null });
}

interface Beat extends RunningWork {
  readonly beat: Heartbeat;
}

function noteHeartbeatLoad(core: Core, worker: Worker, { beat, ...running }: Beat): void {
  const {
    gpu_utilization: gpuUtilization = null,
    vram_used_gb: vramUsedGb = null,
    gpu_figures: gpus = [],
  } = beat;
  const namesJob = (beat.current_job_id ?? null) !== null;
  core.connections.noteLoad(worker.id, { gpuUtilization, vramUsedGb, gpus, namesJob });
  notePower(core, worker, gpus, running);
}

/** Opens the worker's stream, which replaces an older one. Returns a function to call when the stream has ended. */
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
    if (worker === null) return gone;
    markOffline(core, tx, worker, 'goodbye', asWorker(id));
    noteLeft(core, tx, id);
    return accept({ success: true as const });
  });
}

function storeRegistration(
  core: Core,
  tx: Tx,
  known: Worker,
  reported: Registration,
  address: string | null,
): Worker {
  // SimpleTuner's agent does not distinguish a restart from a reconnection: if it was offline, it counts as restarted.
  const restarted =
    reported.startId === null ? known.gone !== null : reported.startId !== known.agent?.startId;
  const plan = troublesAtRegistration(core, known, reported.gpuTroubles);
  const worker: Worker = {
    ...known,
    gone: null,
    lastContactAt: core.time.now(),
    // A restarted agent has run no job yet. One that only reconnects keeps the flag.
    served: known.served && !restarted,
    agent: {
      capabilities: reported.capabilities,
      host: reported.host,
      persistent: reported.persistent ?? known.type === 'persistent',
      labels: reported.labels ?? known.agent?.labels ?? {},
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
  if (JSON.stringify(reported.closed) !== JSON.stringify(known.agent?.closed ?? null))
    recordClosing(core, tx, worker.id, actor, reported.closed);
  return worker;
}

/** Identifies the agent's machine by its instance id or, without one, by its address and host name. */
const machineOf = (
  { instanceId, host }: Pick<Registration, 'instanceId' | 'host'>,
  address: string | null,
): string => instanceId ?? JSON.stringify([address, host]);

/** Whether another machine uses the same token. The machine that was heard recently keeps it. */
function isDuplicate(core: Core, known: Worker, reported: Registration, address: string | null): boolean {
  const metAt = core.connections.metAt(known.id);
  if (known.agent === null || known.gone !== null || metAt === null) return false;
  if (core.clock.mono() - metAt >= core.times.incumbentMs) return false;
  return machineOf(reported, address) !== machineOf(known.agent, known.agent.address);
}

/**
 * Orders a registration among those of the same start. Copies of a request may arrive in any order, and the agent
 * accepts the response to either. An outdated one no longer describes the agent.
 */
function registrationOrder(
  { agent, gone: left }: Worker,
  { startId, registrationNo }: Registration,
): 'next' | 'repeated' | 'outdated' {
  if (startId === null || startId !== agent?.startId || registrationNo === null) return 'next';
  const known = agent.registrationNo ?? 0;
  if (registrationNo > known) return 'next';
  return registrationNo === known && left === null ? 'repeated' : 'outdated';
}

/** Whether another machine has registered as this worker since `before` was read. */
const isReplaced = ({ agent }: Worker, before: Worker | null): boolean =>
  agent !== null &&
  (!before?.agent || machineOf(agent, agent.address) !== machineOf(before.agent, before.agent.address));

function rejectDuplicate(
  core: Core,
  tx: Tx,
  known: Worker,
  reported: Registration,
  address: string | null,
): ReturnType<typeof refuse> {
  core.connections.noteDuplicate(known.id, { at: core.clock.wall(), host: reported.host, address });
  const actor = { type: 'worker', id: known.id, address } as const;
  recordWorkerEvent(core, tx, 'worker.duplicate', known.id, actor, { host: reported.host });
  return refuse(
    'duplicate_registration',
    `Another machine (${known.agent?.host ?? 'of unknown name'}) uses the token of worker ${known.name} at present: ` +
      'add a separate worker for this machine',
  );
}

/**
 * Whether the worker has lost its job. One heartbeat without the job may have crossed an offer or a report. A second
 * one, long enough afterwards, has not.
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

/** If the worker does not name the job that it should have, its trainer is gone, whatever else it runs. */
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

/** Delays the worker's next job, where its agent reports the end of an abandoned job late. */
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
  const wanted = core.trainerKeys.keysToRequest(worker.agent?.trainers ?? [], core.clock.mono());
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
    ...(wanted.length > 0 && { trainer_keys_wanted: [...wanted] }),
  };
}

const abandoned = (verdict: Verdict, reported: JobId | null): JobId | null =>
  verdict.kind === 'abandon' ? reported : null;

/** Whether heartbeats of the worker should name its job. An offer may still be on its way. */
const shouldName = (live: LiveJob | null, node: AttemptNode | null): boolean =>
  live === null ? node !== null && node.state !== 'offered' : live.status !== 'dispatched';

const namesAttempt = (live: LiveJob, beat: Heartbeat): boolean =>
  live.id === beat.current_job_id && (!beat.attempt_id || beat.attempt_id === live.attempt.id);

/** Whether the heartbeat confirms the stored facts, so that there is nothing to write. */
function confirmsStoredJob(live: LiveJob | null, beat: Heartbeat): boolean {
  if (live === null || !namesAttempt(live, beat)) return false;
  return live.status === 'starting' || live.status === 'running' || live.status === 'cancelling';
}

const cancelIn = (verdict: Verdict): HeartbeatReply['cancel'] =>
  verdict.kind === 'cancel' ? { job_id: verdict.jobId, attempt_id: verdict.attemptId } : null;

function heartbeatReply(read: Read, id: Worker['id'], verdict: Verdict, interval: number): HeartbeatReply {
  const live = read.liveJobOf(id);
  const { cancel, rendezvous } = nodeOrders(read, id);
  const ofJob = live?.status === 'cancelling' ? { job_id: live.id, attempt_id: live.attempt.id } : null;
  return {
    success: true,
    cancel: cancelIn(verdict) ?? ofJob ?? cancel,
    abandon_job: null,
    heartbeat_interval_s: interval,
    ...(rendezvous && { rendezvous }),
  };
}

/** Sends what the worker may have missed when its stream opens: an offer, a cancel, or a shutdown. */
export function greet(core: Core, tx: Tx, id: Worker['id']): void {
  const known = tx.worker(id);
  if (known === null) return;
  markOnline(core, tx, known);
  recordWorkerEvent(core, tx, 'worker.connected', id, asWorker(id));
  const live = tx.liveJobOf(id);
  if (live?.status === 'dispatched') repeatOffer(core, tx, live);
  else if (live?.status === 'cancelling' && knowsNewCommands(known)) sendCancel(core, tx, live);
  else greetHeld(core, tx, id);
}

function greetHeld(core: Core, tx: Tx, id: Worker['id']): void {
  const node = tx.heldNodeOf(id);
  if (node === null) release(core, tx, id);
  else greetNode(core, tx, node);
}

/** Marks the worker as offline. Its job waits for it until the takeover. */
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
  // A worker that disconnects will not accept its offer. A silent one may still have received it.
  const type = why === 'goodbye' && live?.status === 'dispatched' ? 'withdraw' : 'silence';
  if (live !== null) applyEvent(core, tx, live, { type }, actor);
  tx.afterCommit(() => core.lookWithin(0));
}
