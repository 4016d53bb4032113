import type { JobId } from '../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import {
  type Heartbeat,
  type HeartbeatReply,
  protocolVersion,
  type RegisterReply,
  type Registration,
} from '../../protocol/worker-api.ts';
import { type Core, lastContact, tellWorker } from './core.ts';
import { dispatch } from './dispatch.ts';
import { type Actor, asWorker, isEphemeral, type LiveJob, type Worker } from './model.ts';
import type { Tx, WorkerStream } from './ports.ts';
import type { ProgressBook } from './progress-book.ts';
import { reconcileAbsence, reconcileClaim, type Verdict } from './reconcile.ts';
import { applyEvent, release, repeatOffer, sendCancel, welcome } from './transitions.ts';
import { introducedTroubles, keepTroubles, noticeTroubles, tellTroubles } from './trouble-calls.ts';

const gone = refuse('token_invalid', 'Invalid token: the worker was deleted');

/** What workers call. Each takes the worker that its token names, which may be gone by now. */
export function createWorkerCalls(core: Core, progress: ProgressBook) {
  const register = async (
    id: Worker['id'],
    said: Registration,
    address: string | null = null,
  ): Promise<Outcome<RegisterReply>> => {
    // Asked before this call counts as contact, and again where it decides.
    const before = core.store.worker(id);
    const rival = before !== null && isRival(core, before, said, address);
    if (before !== null && !rival) core.presence.heard(id, core.clock.mono());
    return core.store.write(tx => {
      const known = tx.worker(id);
      if (known === null) return gone;
      if (rival || isReplaced(known, before)) {
        if (isRival(core, known, said, address)) return turnAway(core, tx, known, said, address);
        core.presence.heard(id, core.clock.mono());
      }
      const place = placeOf(known, said);
      if (place === 'outdated') return accept(registerReply(core, known, null, { kind: 'nothing' }));
      const worker = place === 'repeated' ? known : introduce(core, tx, known, said, address);
      // What it does not name may have been given to it since.
      if (place === 'next') reconcileSilence(core, tx, worker, said);
      const verdict = verdictOn(core, tx, worker, said);
      letForeignEnd(core, tx, worker, verdict);
      dispatch(core, tx);
      return accept(registerReply(core, worker, said.currentJobId, verdict));
    });
  };

  const heartbeat = async (id: Worker['id'], beat: Heartbeat): Promise<Outcome<HeartbeatReply>> => {
    core.presence.heard(id, core.clock.mono());
    const worker = core.store.worker(id);
    if (worker === null) return gone;
    if (worker.agent === null)
      return refuse('not_registered', 'The worker must register before it sends heartbeats');
    noteBeat(core, id, beat);
    const live = core.store.liveJobOf(id);
    const jobId = beat.current_job_id ?? null;
    const interval = core.times.heartbeatMs / 1000;
    const named = live !== null && speaksOf(live, beat);
    const missing = !named && live !== null && live.status !== 'dispatched' && noticeAbsence(core, worker);
    if (named) core.presence.clearAbsence(id);
    const calm = worker.gone === null && !missing && (jobId === null || asExpected(live, beat));
    if (named && beat.job_progress) progress.note(live.id, beat.job_progress);
    const news = noticeTroubles(core, worker, beat.gpu_troubles);
    const datasets = changedDatasets(core, worker, beat.datasets);
    if (calm && news === null && datasets === null)
      return accept(heartbeatReply({ kind: 'nothing' }, live, interval));
    return core.store.write(tx => {
      if (news !== null) keepTroubles(core, tx, id, news);
      if (datasets !== null) keepDatasets(tx, id, datasets);
      const present = tx.worker(id);
      if (present === null) return gone;
      if (calm) {
        dispatch(core, tx);
        return accept(heartbeatReply({ kind: 'nothing' }, tx.liveJobOf(id), interval));
      }
      welcome(core, tx, present);
      // Our own agent has lost it for sure; the published one is asked, by the end of its stream.
      if (missing && present.agent?.protocol === 2) reconcileAbsence(core, tx, present);
      const verdict: Verdict =
        jobId === null
          ? { kind: 'nothing' }
          : reconcileClaim(core, tx, present, { jobId, attemptId: beat.attempt_id ?? null });
      letForeignEnd(core, tx, present, verdict);
      dispatch(core, tx);
      return accept({
        ...heartbeatReply(verdict, tx.liveJobOf(id), interval),
        abandon_job: abandoned(verdict, jobId),
      });
    });
  };

  return {
    register,
    heartbeat,
    /** How long ago it was last heard, or expected to be, in milliseconds; 0 if it never was. */
    silenceOf(id: Worker['id']): number {
      const now = core.clock.mono();
      return now - (core.presence.of(id)?.contactAt ?? now);
    },
    disconnect: (id: Worker['id']) => disconnect(core, id),
    openStream: (id: Worker['id'], stream: WorkerStream) => openStream(core, id, stream),
  };
}

/** Null when there is nothing to write, or when nothing can be written: contact must go on then. */
function changedDatasets(
  core: Core,
  { agent }: Worker,
  said: Heartbeat['datasets'],
): readonly string[] | null {
  if (!said || agent === null || !core.store.takesChanges()) return null;
  return said.join() === agent.datasets?.join() ? null : said;
}

function keepDatasets(tx: Tx, id: Worker['id'], datasets: readonly string[]): void {
  const worker = tx.worker(id);
  if (worker !== null && worker.agent !== null)
    tx.updateWorker({ ...worker, agent: { ...worker.agent, datasets } });
}

function noteBeat({ presence }: Core, id: Worker['id'], beat: Heartbeat): void {
  const { gpu_utilization: gpuUtilization = null, vram_used_gb: vramUsedGb = null } = beat;
  const namesJob = (beat.current_job_id ?? null) !== null;
  presence.noteLoad(id, { gpuUtilization, vramUsedGb, namesJob });
}

/** The answer ends it; so does the stream that replaces it. */
function openStream(core: Core, id: Worker['id'], stream: WorkerStream): () => void {
  core.presence.heard(id, core.clock.mono());
  core.presence.open(id, stream, core.clock.mono());
  core.enqueue(tx => {
    greet(core, tx, id);
    dispatch(core, tx);
  });
  return () => {
    if (!core.presence.closed(id, stream, core.clock.mono())) return;
    core.enqueue(tx => {
      if (tx.worker(id) !== null) tellWorker(core, tx, 'worker.stream_closed', id, asWorker(id));
    });
  };
}

async function disconnect(core: Core, id: Worker['id']): Promise<Outcome<{ readonly success: true }>> {
  core.presence.hangUp(id);
  return core.store.write(tx => {
    const worker = tx.worker(id);
    if (worker === null) return gone;
    sayGoodbye(core, tx, worker, 'goodbye', asWorker(id));
    dispatch(core, tx);
    return accept({ success: true as const });
  });
}

function introduce(core: Core, tx: Tx, known: Worker, said: Registration, address: string | null): Worker {
  // The published agent does not tell a restart from a reconnection: one that was gone counts as restarted.
  const restarted = said.startId === null ? known.gone !== null : said.startId !== known.agent?.startId;
  const plan = introducedTroubles(core, known, said.gpuTroubles);
  const worker: Worker = {
    ...known,
    gone: null,
    lastContactAt: core.time.now(),
    // A new agent has served nobody yet; one that only reconnects keeps what it owes.
    served: known.served && !restarted,
    agent: {
      capabilities: said.capabilities,
      host: said.host,
      persistent: said.persistent ?? known.type === 'persistent',
      labels: said.labels ?? known.agent?.labels ?? {},
      protocol: said.protocol,
      instanceId: said.instanceId,
      startId: said.startId,
      registrationNo: said.registrationNo,
      address,
      agentVersion: said.agentVersion,
      allowedConfigKeys: said.allowedConfigKeys,
      trainers: said.trainers,
      outputs: said.outputs,
      datasets: said.datasets,
      gpuTroubles: plan.troubles,
      registeredAt: core.clock.wall(),
    },
  };
  tx.updateWorker(worker);
  tx.afterCommit(() => {
    core.deadlines.removal.delete(worker.id);
    core.deadlines.firstContact.delete(worker.id);
  });
  core.presence.clearAbsence(worker.id);
  const actor = { type: 'worker', id: worker.id, address } as const;
  tellWorker(core, tx, 'worker.registered', worker.id, actor, { host: said.host, protocol: said.protocol });
  core.presence.noteDoubted(worker.id, plan.doubted);
  tellTroubles(core, tx, worker.id, plan);
  return worker;
}

/** An agent that tells which machine it is on is known by that, and any other by where it comes from. */
const machineOf = (
  { instanceId, host }: Pick<Registration, 'instanceId' | 'host'>,
  address: string | null,
): string => instanceId ?? JSON.stringify([address, host]);

/** Whether somebody else is there already, with the same token: the one who was heard last keeps it. */
function isRival(core: Core, known: Worker, said: Registration, address: string | null): boolean {
  const metAt = core.presence.metAt(known.id);
  if (known.agent === null || known.gone !== null || metAt === null) return false;
  if (core.clock.mono() - metAt >= core.times.incumbentMs) return false;
  return machineOf(said, address) !== machineOf(known.agent, known.agent.address);
}

/**
 * Where an introduction stands among those of the same start. A copy may come first, and the agent waits for the answer to
 * either; once a later one is known, what an outdated one says was true once.
 */
function placeOf(
  { agent, gone: left }: Worker,
  { startId, registrationNo }: Registration,
): 'next' | 'repeated' | 'outdated' {
  if (startId === null || startId !== agent?.startId || registrationNo === null) return 'next';
  const known = agent.registrationNo ?? 0;
  if (registrationNo > known) return 'next';
  return registrationNo === known && left === null ? 'repeated' : 'outdated';
}

/** Whether another machine has joined as this worker since it was looked at. */
const isReplaced = ({ agent }: Worker, before: Worker | null): boolean =>
  agent !== null &&
  (!before?.agent || machineOf(agent, agent.address) !== machineOf(before.agent, before.agent.address));

function turnAway(
  core: Core,
  tx: Tx,
  known: Worker,
  said: Registration,
  address: string | null,
): ReturnType<typeof refuse> {
  core.presence.noteRival(known.id, { at: core.clock.wall(), host: said.host, address });
  const actor = { type: 'worker', id: known.id, address } as const;
  tellWorker(core, tx, 'worker.duplicate', known.id, actor, { host: said.host });
  return refuse(
    'duplicate_registration',
    `Another machine (${known.agent?.host ?? 'of unknown name'}) works with the token of worker ${known.name} right now: ` +
      'create a worker of its own for this machine',
  );
}

/** One beat without the job may have crossed an offer or a report; a second one that is long enough after it has not. */
function noticeAbsence(core: Core, worker: Worker): boolean {
  const now = core.clock.mono();
  const since = core.presence.noteAbsence(worker.id, now);
  if (now - since < core.times.absentMs) return false;
  if (worker.agent?.protocol === 1) {
    // A clean end makes the published agent register again at once, and say what it runs.
    core.presence.clearAbsence(worker.id);
    core.presence.hangUp(worker.id);
  }
  return true;
}

/** What the worker is known to have and does not name is not there, whatever else it runs. */
function reconcileSilence(core: Core, tx: Tx, worker: Worker, said: Registration): void {
  const live = tx.liveJobOf(worker.id);
  const named =
    live?.id === said.currentJobId && (said.currentAttemptId ?? live?.attempt.id) === live?.attempt.id;
  if (!named) reconcileAbsence(core, tx, worker);
}

/** The published agent would report the end of what it names as that of its next job, if it were given that just then. */
function letForeignEnd(core: Core, tx: Tx, { id, agent }: Worker, verdict: Verdict): void {
  if (verdict.kind !== 'abandon' || agent?.protocol !== 1) return;
  const { settleAfterStopMs } = core.times;
  core.presence.settle(id, core.clock.mono() + settleAfterStopMs);
  tx.afterCommit(() => core.later(settleAfterStopMs));
}

const verdictOn = (
  core: Core,
  tx: Tx,
  worker: Worker,
  { currentJobId, currentAttemptId }: Registration,
): Verdict =>
  currentJobId === null
    ? { kind: 'nothing' }
    : reconcileClaim(core, tx, worker, { jobId: currentJobId, attemptId: currentAttemptId });

function registerReply(core: Core, worker: Worker, said: JobId | null, verdict: Verdict): RegisterReply {
  const { times } = core;
  const wanted = core.trainerKeys.ask(worker.agent?.trainers ?? [], core.clock.mono());
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
    // The published agent knows no other word for a cancel that it may have missed.
    abandon_job: verdict.kind === 'cancel' && worker.agent?.protocol === 1 ? said : abandoned(verdict, said),
    cancel: verdict.kind === 'cancel' ? { job_id: verdict.job.id, attempt_id: verdict.job.attempt.id } : null,
    protocol: protocolVersion,
    heartbeat_interval_s: times.heartbeatMs / 1000,
    heartbeat_timeout_s: times.offlineAfterMs / 1000,
    stop_grace_s: times.stopGraceMs / 1000,
    stream_silence_s: times.streamSilenceMs / 1000,
    ...(wanted.length > 0 && { trainer_keys_wanted: [...wanted] }),
  };
}

const abandoned = (verdict: Verdict, said: JobId | null): JobId | null =>
  verdict.kind === 'abandon' ? said : null;

const speaksOf = (live: LiveJob, beat: Heartbeat): boolean =>
  live.id === beat.current_job_id && (!beat.attempt_id || beat.attempt_id === live.attempt.id);

/** Nothing to write: the beat says what is known already. */
function asExpected(live: LiveJob | null, beat: Heartbeat): boolean {
  if (live === null || !speaksOf(live, beat)) return false;
  return live.status === 'starting' || live.status === 'running' || live.status === 'cancelling';
}

function heartbeatReply(verdict: Verdict, live: LiveJob | null, interval: number): HeartbeatReply {
  const cancelled = verdict.kind === 'cancel' ? verdict.job : live?.status === 'cancelling' ? live : null;
  return {
    success: true,
    cancel: cancelled && { job_id: cancelled.id, attempt_id: cancelled.attempt.id },
    abandon_job: null,
    heartbeat_interval_s: interval,
  };
}

/** What a worker hears when its stream opens: the offer that it may have missed, or that it may leave. */
export function greet(core: Core, tx: Tx, id: Worker['id']): void {
  const known = tx.worker(id);
  if (known === null) return;
  welcome(core, tx, known);
  tellWorker(core, tx, 'worker.connected', id, asWorker(id));
  const live = tx.liveJobOf(id);
  if (live?.status === 'dispatched') repeatOffer(core, tx, live);
  else if (live?.status === 'cancelling' && known.agent?.protocol === 2) sendCancel(core, tx, live);
  else release(core, tx, id);
}

/** The worker is offline: its job waits for it until takeover. */
export function sayGoodbye(
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
  tellWorker(core, tx, 'worker.offline', worker.id, actor, { why });
  const live = tx.liveJobOf(worker.id);
  // Who says goodbye does not come back for an offer; who is silent may still have heard it.
  const type = why === 'goodbye' && live?.status === 'dispatched' ? 'withdraw' : 'silence';
  if (live !== null) applyEvent(core, tx, live, { type }, actor);
  tx.afterCommit(() => core.lookWithin(0));
}
