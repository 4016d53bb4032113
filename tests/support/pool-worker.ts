import { manifestName } from '../../protocol/artifact.ts';
import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import {
  StatusReport,
  type StatusReportBody,
  type WorkerCommand,
  workerApi,
} from '../../protocol/worker-api.ts';
import { type Fleet, hashOf } from './fleet.ts';
import type { Allocation, MemoryEngine } from './memory-engine.ts';

/** The behaviour of all workers in the fleet. Tests can change the values at any time. */
export interface WorkerHabits {
  /** Time in ms from the start of the machine to the first call; null for workers that never call. */
  joinMs: number | null;
  /** Duration of each training, in ms. */
  jobMs: number;
  /** True if trainers save a checkpoint after a notice and workers upload it. */
  saves: boolean;
  /** Time in ms from a notice to the disconnect; null for workers that ignore notices. */
  leaveMs: number | null;
}

interface Training {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
}

/** A simulated worker on a machine of an engine. */
export interface PoolWorker {
  readonly allocation: Allocation;
  /** Id of the worker; null before it has joined. */
  readonly id: WorkerId | null;
  /** The code with which the orchestrator refused the worker; null when it did not. */
  readonly refused: string | null;
  readonly job: JobId | null;
  readonly isLeaving: boolean;
  join(): void;
  /** Notifies the worker, which then saves, reports and leaves. */
  leave(): void;
  /** Simulates the loss of the machine. */
  die(): void;
  /** Reconnects the worker after a restart of the orchestrator. */
  reconnect(): void;
}

const heartbeatEveryMs = 5_000;

/**
 * Creates a worker that joins with the token of the order, runs jobs, and leaves after a notice. It repeats each report until the
 * orchestrator answers. `isUp`: returns false while no orchestrator runs.
 */
export function createPoolWorker(
  fleet: Fleet,
  engine: MemoryEngine,
  allocation: Allocation,
  habits: WorkerHabits,
  isUp: () => boolean,
): PoolWorker {
  const { clock } = fleet;
  const tokenHash = hashOf(`own token of ${allocation.engineId}`);
  const host = `node-${allocation.engineId}`;
  const reports: { readonly training: Training; readonly body: StatusReportBody }[] = [];
  let id: WorkerId | null = null;
  let refused: string | null = null;
  let training: Training | null = null;
  let isLeaving = false;
  let isAlive = true;
  let isSending = false;
  let isDisconnectDue = false;
  let registrations = 0;

  const later = (ms: number, run: () => void): void =>
    void clock.after(ms, () => {
      if (isAlive) run();
    });
  const failLaunch = (why: string): void => {
    refused = why;
    engine.finish(allocation, 'failed');
  };
  /** Makes a call, and passes its answer to `onAnswer`. After a kill of the orchestrator, no answer arrives. */
  const callOrchestrator = async <T>(
    call: () => Promise<T>,
    onAnswer: (answer: T) => void,
  ): Promise<void> => {
    if (!isAlive || !isUp()) return;
    const [answer] = await Promise.allSettled([call()]);
    // The call failed, for example because the disk is full. The next heartbeat sends the report again.
    if (answer.status === 'rejected') isSending = false;
    else if (isAlive) onAnswer(answer.value);
  };

  const join = (): void =>
    void callOrchestrator(
      () => fleet.orchestrator.workers.join(hashOf(allocation.order.joinToken), tokenHash, '10.1.0.1'),
      outcome => {
        if (!outcome.ok) return failLaunch(outcome.refusal.code);
        id = outcome.value.worker_id;
        register();
      },
    );

  /** Returns the worker's training. An ended training counts as current until the orchestrator has answered its final report. */
  const currentTraining = (): Training | null => training ?? reports.at(-1)?.training ?? null;

  function register(): void {
    if (id === null) return join();
    const workerId = id;
    const { gpus } = allocation.order;
    const body = workerApi.register.body.parse({
      name: host,
      gpu_info: gpus === 0 ? null : { name: 'A100', vram_gb: 80, count: gpus, accelerator: 'cuda' },
      persistent: true,
      current_job_id: currentTraining()?.jobId ?? null,
      current_attempt_id: currentTraining()?.attemptId ?? null,
      protocol: 2,
      instance_id: host,
      start_id: host,
      registration_no: (registrations += 1),
    });
    void callOrchestrator(
      () => fleet.orchestrator.workers.register(workerId, body, '10.1.0.1'),
      outcome => {
        if (!outcome.ok) return failLaunch(outcome.refusal.code);
        if (outcome.value.abandon_job !== null) training = null;
        openStream(workerId);
        send();
      },
    );
  }

  function openStream(workerId: WorkerId): void {
    const close = fleet.orchestrator.workers.openStream(workerId, {
      send: receive,
      end: () => void Promise.resolve().then(() => close()),
    });
  }

  function receive(command: WorkerCommand): void {
    if (!isAlive) return;
    if (command.type === 'job_submit')
      startTraining({ jobId: command.job_id, attemptId: command.attempt_id });
    if (command.type === 'notice') leave();
    if (command.type === 'job_cancel' && training?.attemptId === command.attempt_id) stop('cancelled');
    if (command.type === 'shutdown' && training === null) leave();
  }

  function startTraining(next: Training): void {
    if (training?.attemptId === next.attemptId) return;
    training = next;
    report({ status: 'starting' });
    report({ status: 'running' });
    later(habits.jobMs, () => {
      if (training === next) stop('completed');
    });
  }

  function stop(status: 'completed' | 'cancelled' | 'failed', more: Partial<StatusReportBody> = {}): void {
    report({ status, ...more });
    training = null;
  }

  function report(body: StatusReportBody): void {
    if (training !== null) reports.push({ training, body });
    send();
  }

  function send(): void {
    const [next] = reports;
    const workerId = id;
    if (next === undefined && isDisconnectDue) return disconnect();
    if (next === undefined || workerId === null || isSending || !isUp()) return;
    isSending = true;
    const { jobId, attemptId } = next.training;
    const body = StatusReport.parse({ attempt_id: attemptId, ...next.body });
    void callOrchestrator(
      () => fleet.orchestrator.jobs.report(workerId, jobId, body),
      outcome => {
        isSending = false;
        reports.shift();
        if (!outcome.ok && training?.attemptId === attemptId) training = null;
        send();
      },
    );
  }

  function leave(): void {
    if (isLeaving || habits.leaveMs === null) return;
    isLeaving = true;
    later(habits.leaveMs, () => {
      isDisconnectDue = true;
      if (training === null) return send();
      const interrupted = training;
      if (!habits.saves) return stop('failed', { cause: 'preempted', saved: false });
      void callOrchestrator(
        () => upload(fleet, interrupted.jobId),
        () => {
          if (training === interrupted) stop('failed', { cause: 'preempted', saved: true });
        },
      );
    });
  }

  function disconnect(): void {
    const workerId = id;
    if (workerId === null) return engine.finish(allocation, 'completed');
    void callOrchestrator(
      () => fleet.orchestrator.workers.disconnect(workerId),
      () => engine.finish(allocation, 'completed'),
    );
  }

  function sendHeartbeat(): void {
    later(heartbeatEveryMs, sendHeartbeat);
    const workerId = id;
    if (workerId === null) return isLeaving ? undefined : join();
    if (!isUp()) return;
    if (fleet.orchestrator.workers.byTokenHash(tokenHash) === null) return failLaunch('token_invalid');
    send();
    const body = workerApi.heartbeat.body.parse({
      worker_id: workerId,
      current_job_id: currentTraining()?.jobId ?? null,
      attempt_id: currentTraining()?.attemptId,
    });
    const reported = training;
    void callOrchestrator(
      () => fleet.orchestrator.workers.heartbeat(workerId, body),
      outcome => {
        if (!outcome.ok)
          return outcome.refusal.code === 'not_registered' ? register() : failLaunch(outcome.refusal.code);
        const { notice, cancel, abandon_job: abandoned } = outcome.value;
        if (notice) leave();
        if (reported !== null && training === reported && cancel?.attempt_id === reported.attemptId)
          stop('cancelled');
        if (reported !== null && training === reported && abandoned === reported.jobId) training = null;
      },
    );
  }
  later(heartbeatEveryMs, sendHeartbeat);

  return {
    allocation,
    get id() {
      return id;
    },
    get refused() {
      return refused;
    },
    get job() {
      return training?.jobId ?? null;
    },
    get isLeaving() {
      return isLeaving;
    },
    join,
    leave,
    die: () => void (isAlive = false),
    reconnect() {
      isSending = false;
      if (isAlive && id !== null) register();
    },
  };
}

/** Stores a checkpoint of the job's current attempt directly, as the result of an upload. */
const upload = (fleet: Fleet, jobId: JobId): Promise<void> =>
  fleet.store.write(tx => {
    const attempt = tx.job(jobId)?.attempt;
    if (!attempt) return;
    tx.putArtifact({
      jobId,
      attempt: attempt.n,
      key: `checkpoint-${attempt.n}/${manifestName}`,
      kind: 'checkpoint',
      bytes: 1,
      sha256: hashOf(`${jobId} ${attempt.n}`),
      file: `${jobId}-${attempt.n}`,
      createdAt: fleet.clock.wall(),
    });
  });
