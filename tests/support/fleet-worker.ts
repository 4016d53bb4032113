import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type { Outcome } from '../../protocol/problem.ts';
import {
  type HeartbeatBody,
  type HeartbeatReply,
  type RegisterReply,
  type RegistrationBody,
  StatusReport,
  type StatusReportBody,
  type WorkerCommand,
  workerApi,
} from '../../protocol/worker-api.ts';
import type { GpuTrouble, WorkerView } from '../../protocol/worker.ts';
import type { Orchestrator } from '../../main/orchestrator/index.ts';
import type { VirtualClock } from './virtual-clock.ts';
import { valueOf } from './fleet-outcome.ts';

/** The fields with which an agent registers. The defaults are those of Trainyard's own agent on a rig with one GPU. */
export interface AgentOptions {
  /** 1: SimpleTuner's published agent (v1), which knows no attempts and sends no instance id. */
  readonly protocol?: 1 | 2;
  /** Protocol 2 only. Default: omitted, as by agents that do not check configs. */
  readonly allowedConfigKeys?: readonly string[];
  /** Protocol 2 only. Default: omitted, as by agents that do not report trainers. */
  readonly trainers?: RegistrationBody['trainers'];
  readonly outputs?: RegistrationBody['outputs'];
  /** Default: the type with which the worker was created. */
  readonly persistent?: boolean;
  readonly gpus?: number;
  readonly host?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Identifies the machine; protocol 2 only. */
  readonly instanceId?: string;
  /** Identifies this start of the agent; protocol 2 only. */
  readonly startId?: string;
  /** Protocol 2 only. Default: omitted, as by older agents. */
  readonly registrationNo?: number;
  /** Protocol 2 only: true if the worker can train a job together with others. Default: omitted, as by older agents. */
  readonly isMultiNode?: boolean;
  /** The network address of the agent. */
  readonly address?: string;
  /** Protocol 2 only. Default: omitted, as by agents that do not watch their GPUs. */
  readonly gpuTroubles?: readonly GpuTrouble[];
  /** Protocol 2 only: the program that the orchestrator can update. Default: omitted, as by older agents. */
  readonly program?: RegistrationBody['program'];
  readonly agentVersion?: string;
  readonly currentJobId?: JobId;
  /** Protocol 2 only. Default: the attempt that was last offered for `currentJobId`. */
  readonly currentAttemptId?: AttemptId;
}

/** The worker's side of a command stream. */
export interface FleetStream {
  /** The commands that were received on this stream, oldest first. */
  readonly commands: readonly WorkerCommand[];
  /** True when the orchestrator has closed the stream. */
  readonly ended: boolean;
  /** Breaks the connection. After a newer stream has replaced this stream, simulates the late close of the old connection. */
  drop(): Promise<void>;
}

/** A worker and its agent. Each call resolves after the answer has arrived and all effects are done. */
export interface FleetWorker {
  readonly id: WorkerId;
  readonly token: string;
  /** The newest stream; throws before the first `openStream`. */
  readonly stream: FleetStream;
  /** The commands received on all its streams, oldest first. */
  readonly commands: readonly WorkerCommand[];
  /** The received commands of one type. */
  commandsOf<T extends WorkerCommand['type']>(type: T): readonly Extract<WorkerCommand, { type: T }>[];
  /** Returns the last offer that the worker received; throws when it received none. */
  lastOffer(): Extract<WorkerCommand, { type: 'job_submit' }>;
  view(): WorkerView;
  /** Registers with the fields of the previous registration and these changes. Throws when the orchestrator refuses. */
  register(changes?: AgentOptions): Promise<RegisterReply>;
  /** Like `register`, but returns a refusal. */
  tryRegister(changes?: AgentOptions): Promise<Outcome<RegisterReply>>;
  openStream(): Promise<FleetStream>;
  /** `register`, then `openStream`. */
  connect(changes?: AgentOptions): Promise<FleetStream>;
  /** Sends a heartbeat with the job and the running attempt. Without a job, the worker is idle. */
  beat(jobId?: JobId | null, more?: Partial<HeartbeatBody>): Promise<Outcome<HeartbeatReply>>;
  /**
   * Reports a status. With protocol 2, the report names the attempt that was last offered for the job, unless `more` names
   * another.
   */
  report(
    jobId: JobId,
    status: StatusReportBody['status'],
    more?: Partial<StatusReportBody>,
  ): Promise<Outcome<{ readonly duplicate: boolean }>>;
  /** Accepts the last offer, and reports that the job runs. Throws when the orchestrator refuses. */
  run(jobId: JobId): Promise<void>;
  disconnect(): Promise<Outcome<{ readonly success: true }>>;
}

export interface FleetWorkerDeps {
  readonly id: WorkerId;
  readonly token: string;
  readonly persistent: boolean;
  readonly clock: VirtualClock;
  /** Returns the orchestrator that runs now. */
  readonly orchestrator: () => Orchestrator;
}

export function createFleetWorker(deps: FleetWorkerDeps): FleetWorker {
  const { id, clock, orchestrator } = deps;
  const streams: FleetStream[] = [];
  const commands: WorkerCommand[] = [];
  const offeredAttempts = new Map<JobId, AttemptId>();
  let agent: AgentOptions = {};

  const settle = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await clock.settle();
    return value;
  };
  const attemptField = (jobId: JobId | null | undefined) =>
    agent.protocol === 1 || !jobId ? {} : { attempt_id: offeredAttempts.get(jobId) };

  const receive = (command: WorkerCommand): void => {
    commands.push(command);
    if (command.type === 'job_submit') offeredAttempts.set(command.job_id, command.attempt_id);
  };

  const commandsOf: FleetWorker['commandsOf'] = type =>
    commands.filter(
      (command): command is Extract<WorkerCommand, { type: typeof type }> => command.type === type,
    );

  const tryRegister: FleetWorker['tryRegister'] = async ({
    currentJobId,
    currentAttemptId,
    ...changes
  } = {}) => {
    agent = { ...agent, ...changes };
    const attemptId = currentAttemptId ?? (currentJobId && offeredAttempts.get(currentJobId));
    const body = workerApi.register.body.parse(
      registrationBodyOf(deps, agent, currentJobId ?? null, attemptId ?? null),
    );
    return settle(orchestrator().workers.register(id, body, agent.address ?? '10.0.0.7'));
  };
  const register: FleetWorker['register'] = async changes => valueOf(await tryRegister(changes));

  const openStream = async (): Promise<FleetStream> => {
    const stream = openFleetStream(orchestrator(), id, receive, clock);
    streams.push(stream);
    await clock.settle();
    return stream;
  };

  const report: FleetWorker['report'] = (jobId, status, more = {}) =>
    settle(
      orchestrator().jobs.report(id, jobId, StatusReport.parse({ status, ...attemptField(jobId), ...more })),
    );

  return {
    id,
    token: deps.token,
    get stream() {
      return last(streams, 'stream');
    },
    commands,
    commandsOf,
    lastOffer: () => last(commandsOf('job_submit'), 'offer'),
    view: () => valueOf(orchestrator().workers.get(id)),
    register,
    tryRegister,
    openStream,
    async connect(changes) {
      await register(changes);
      return openStream();
    },
    beat(jobId = null, more = {}) {
      const body: HeartbeatBody = {
        worker_id: id,
        status: jobId === null ? 'idle' : 'busy',
        current_job_id: jobId,
        ...attemptField(jobId),
        ...more,
      };
      return settle(orchestrator().workers.heartbeat(id, workerApi.heartbeat.body.parse(body)));
    },
    report,
    async run(jobId) {
      valueOf(await report(jobId, 'starting'));
      valueOf(await report(jobId, 'running'));
    },
    disconnect: () => settle(orchestrator().workers.disconnect(id)),
  };
}

function registrationBodyOf(
  deps: FleetWorkerDeps,
  agent: AgentOptions,
  currentJobId: JobId | null,
  currentAttemptId: AttemptId | null,
): RegistrationBody {
  const host = agent.host ?? `host-of-${deps.id}`;
  const persistent = agent.persistent ?? deps.persistent;
  const gpu = { name: 'NVIDIA A100-SXM4-80GB', vram_gb: 80, count: agent.gpus ?? 1, accelerator: 'cuda' };
  const body: RegistrationBody = {
    name: host,
    gpu_info: gpu,
    persistent,
    current_job_id: currentJobId,
    ...(agent.labels && { labels: agent.labels }),
  };
  if (agent.protocol === 1) return body;
  return {
    ...body,
    protocol: 2,
    ...(agent.allowedConfigKeys && { allowed_config_keys: [...agent.allowedConfigKeys] }),
    ...(agent.trainers && { trainers: agent.trainers }),
    ...(agent.outputs && { outputs: agent.outputs }),
    instance_id: agent.instanceId ?? `instance-of-${deps.id}`,
    start_id: agent.startId ?? `start-of-${deps.id}`,
    registration_no: agent.registrationNo ?? null,
    ...(agent.isMultiNode === true && { multi_node: true }),
    ...(agent.program && { program: agent.program }),
    ...(agent.agentVersion !== undefined && { agent_version: agent.agentVersion }),
    current_attempt_id: currentAttemptId,
    ...(agent.gpuTroubles && { gpu_troubles: agent.gpuTroubles }),
  };
}

function openFleetStream(
  orchestrator: Orchestrator,
  id: WorkerId,
  onCommand: (command: WorkerCommand) => void,
  clock: VirtualClock,
): FleetStream {
  const commands: WorkerCommand[] = [];
  let ended = false;
  const close = orchestrator.workers.openStream(id, {
    send(command) {
      if (ended) throw new Error(`${command.type} was sent to ${id} on a stream that has ended`);
      commands.push(command);
      onCommand(command);
    },
    end() {
      ended = true;
      // As in the real server, the orchestrator learns about the close slightly later.
      void Promise.resolve().then(() => close());
    },
  });
  return {
    commands,
    get ended() {
      return ended;
    },
    async drop() {
      close();
      await clock.settle();
    },
  };
}

function last<T>(items: readonly T[], what: string): T {
  const item = items.at(-1);
  if (item === undefined) throw new Error(`the worker has had no ${what} yet`);
  return item;
}
