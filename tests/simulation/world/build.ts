import { JobId, type WorkerId } from '../../../protocol/ids.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { createLedger } from '../checks/ledger.ts';
import { eventOf, readClaim } from '../checks/authority.ts';
import { issuedIn } from '../checks/promises.ts';
import type { Place, Plan, StartPlan, RigPlan } from '../plan/plan.ts';
import { type Committed, type Disk, openDisk } from './disk.ts';
import type { FrontDoorListeners } from './front-door.ts';
import { createLink, type Link } from './link.ts';
import { createMachine } from './machine.ts';
import { createOrchestratorHost, type OrchestratorHost } from './orchestrator-host.ts';
import { openPanel } from './panel.ts';
import { createPeople, type People } from './people.ts';
import { startProcess } from './process.ts';
import { createRandom } from './random.ts';
import type { Rig } from './rig.ts';
import { createV1Rig, type V1Deps } from './rig-v1.ts';
import { createV2Rig } from './rig-v2.ts';
import { createMuteRig } from './rig-mute.ts';
import { createWildRig, type WildOptions } from './rig-wild.ts';
import type { Observer, Scene, SceneRig } from './scene.ts';
import { createTrace, type Trace } from './trace.ts';
import { createTrainerYard, type TrainingBehaviour, type TrainerYard } from './trainer.ts';
import { createTroubles, type Troubles } from './troubles.ts';
import type { WireAnswer, WireRequest } from './wire.ts';

export interface World {
  readonly scene: Scene;
  readonly people: People;
  readonly troubles: Troubles;
  /** Creates a worker, and starts its agent on a new rig. */
  addWorker(plan: RigPlan): Promise<void>;
  /**
   * Ends all faults, and removes the rigs whose agents send random calls or acknowledge no offer. From then on, trainings are
   * short and succeed.
   */
  calmDown(): void;
  close(): Promise<void>;
}

interface WorldDeps {
  readonly plan: Plan;
  readonly observers: (scene: Scene) => readonly Observer[];
  /** See `Scene.reach`. */
  readonly reach: (row: string) => void;
  /** See `Scene.violate`. */
  readonly violate: (rule: string, how: string) => void;
}

/** Builds the parts of a world, and connects them. All listeners between parts are set here. */
export function buildWorld({ plan, observers: observersOf, reach, violate }: WorldDeps): World {
  const random = createRandom(`world ${plan.seed}`);
  const rigs = new Map<number, SceneRig>();
  const links = new Map<Place, Link>();
  const tokens = new Map<string, WorkerId>();
  let observers: readonly Observer[] = [];
  let isCalm = false;
  let troubles: Troubles | null = null;

  const log = {
    info: () => {},
    warn: () => {},
    error: (event: string, fields: Readonly<Record<string, unknown>> = {}) => {
      const { cause } = fields;
      const isSimulated =
        cause instanceof Error && (cause.name === 'StorageError' || cause.message === 'the process is gone');
      if (isSimulated) return;
      violate(
        'no unexpected error',
        `${event}: ${cause instanceof Error ? (cause.stack ?? '') : String(cause)}`,
      );
    },
  };
  const world: VirtualClock = createVirtualClock(() => disk.isBusy(), 1);
  const startedAt = world.mono();
  const now = (): number => world.mono();
  const trace: Trace = createTrace(() => world.mono() - startedAt);
  const notifyObservers = (callBack: (observer: Observer) => void): void => observers.forEach(callBack);
  const ledger = createLedger();
  const disk: Disk = openDisk(world, {
    log,
    onBegin: (request, read) => notifyObservers(observer => observer.onBegin?.(request, read)),
    onCommit(command) {
      const by = command.cause === null ? '' : ` by ${requestInWords(command.cause)}`;
      for (const line of inWords(command)) trace.note('commit', line + by);
      notifyObservers(observer => observer.onCommit?.(command));
      ledger.note(command);
    },
    onCrash(point) {
      trace.note('disk', `the orchestrator crashes ${point}`);
      troubles?.onCrash();
    },
  });

  const workerOf = (token: string): WorkerId | null => tokens.get(token) ?? null;
  const listeners: FrontDoorListeners = {
    during: disk.during,
    onArrive: (request, link) => notifyObservers(observer => observer.onArrive?.(request, link)),
    onAnswer(request, answer, link) {
      const issued = request.kind === 'person' && answer.kind === 'answer' ? issuedIn(answer.body) : null;
      if (issued !== null) tokens.set(issued.token, issued.worker);
      trace.note(link, `${requestInWords(request)} = ${answerInWords(answer)}`);
      notifyObservers(observer => observer.onAnswer?.(request, answer, link));
    },
    onFrame(token, command) {
      const worker = workerOf(token);
      if (command.type !== 'ping')
        trace.note(
          'stream',
          `${worker ?? token} <- ${command.type} ${'job_id' in command ? `${command.job_id} ${command.attempt_id}` : ''}`,
        );
      if (worker !== null) notifyObservers(observer => observer.onFrame?.(worker, token, command));
    },
    onStream(token, end, what) {
      const worker = workerOf(token);
      trace.note('stream', `${worker ?? token} ${what}`);
      if (worker !== null) notifyObservers(observer => observer.onStream?.(worker, end, what));
    },
    onCrash: cause =>
      violate('no unexpected error', cause instanceof Error ? (cause.stack ?? '') : String(cause)),
  };
  const host: OrchestratorHost = createOrchestratorHost({
    now,
    disk,
    listeners,
    log,
    heartbeatTimeoutMs: plan.heartbeatTimeoutMs,
    v1SilenceMs: plan.v1SilenceMs,
    machine: createMachine(world, 'orchestrator', plan.rate),
    onStart: life => notifyObservers(observer => observer.onLife?.(life)),
    note: what => trace.note('server', what),
  });
  const yard: TrainerYard = createTrainerYard({
    now,
    random: random.fork('trainers'),
    onStart(trainer) {
      trace.note(trainer.machine, `trainer ${trainer.pid} of ${trainer.jobId} starts`);
      troubles?.onTrainer(trainer.machine);
      notifyObservers(observer => observer.onTrainerStart?.(trainer));
    },
    onEnd(trainer, exit) {
      trace.note(
        trainer.machine,
        `trainer ${trainer.pid} of ${trainer.jobId} ends: ${exit.signal ?? exit.code ?? ''}`,
      );
      notifyObservers(observer => observer.onTrainerEnd?.(trainer, exit));
    },
  });
  const linkTo = (place: Place, name: string): Link => {
    const link = createLink({ world, random: random.fork(`link ${name}`), name, server: () => host.life });
    links.set(place, link);
    return link;
  };
  // The process on the computer of the users, which makes their calls and shows the panel.
  const desk = startProcess(createMachine(world, 'desk', 1), 'desk');
  const people = createPeople({
    process: desk,
    link: linkTo('people', 'people'),
    random: random.fork('people'),
    rigOf: index => rigs.get(index)?.rig ?? null,
  });
  troubles = createTroubles({
    world,
    disk,
    host,
    people,
    rigOf: index => rigs.get(index) ?? null,
    linkOf: place => links.get(place) ?? null,
    links: () => [...links.values()],
    rigs: () => [...rigs.values()],
    note: what => trace.note('FAULT', what),
  });

  const scene: Scene = {
    plan,
    world,
    trace,
    disk,
    host,
    yard,
    ledger,
    workerOf,
    reach,
    violate,
    rigs: () => [...rigs.values()],
    rigOf: worker => [...rigs.values()].find(({ rig }) => rig.workerId === worker) ?? null,
    calmSince: rig => calmSince(world, host, disk, rig),
  };
  observers = observersOf(scene);
  host.start();
  openPanel({
    world,
    process: desk,
    link: linkTo('panel', 'panel'),
    onEvent: event => notifyObservers(observer => observer.onPanelEvent?.(event)),
  });

  return {
    scene,
    people,
    troubles,
    async addWorker(rigPlan) {
      const { workerId, token } = await people.addWorker(rigPlan);
      const startPlanOf: StartPlanOf = (job, jobId) =>
        startPlanFor(plan, rigPlan, job, yard.runsOf(jobId), isCalm);
      const deps = {
        now,
        plan: rigPlan,
        workerId,
        token,
        yard,
        machine: createMachine(world, rigPlan.name, rigPlan.rate),
        link: linkTo(rigPlan.index, rigPlan.name),
        random: random.fork(rigPlan.name),
        note: (what: string) => trace.note(rigPlan.name, what),
      };
      const sceneRig = rigFor({ ...deps, heartbeatTimeoutMs: plan.heartbeatTimeoutMs }, startPlanOf);
      rigs.set(rigPlan.index, sceneRig);
      sceneRig.rig.start();
    },
    calmDown() {
      isCalm = true;
      for (const { rig } of rigs.values()) if (rig.plan.isWild || rig.plan.isMute) rig.lose();
      troubles?.heal();
    },
    async close() {
      host.stop();
      await world.advance(10);
      await disk.store.close();
    },
  };
}

type StartPlanOf = (job: number, jobId: JobId) => StartPlan;

function rigFor(deps: Omit<V1Deps, 'behaviourOf'> & WildOptions, startPlanOf: StartPlanOf): SceneRig {
  const { isWild, isMute, protocol } = deps.plan;
  if (isWild) return { guard: null, rig: createWildRig(deps) };
  if (isMute) return { guard: null, rig: createMuteRig(deps) };
  if (protocol === 2)
    return createV2Rig({
      ...deps,
      behaviourOf: offer => startPlanOf(jobIndexIn(offer.config), offer.job_id),
    });
  const behaviourOf: V1Deps['behaviourOf'] = ({ config, jobId }) =>
    toBehaviour(startPlanOf(jobIndexIn(config), JobId.parse(jobId)));
  return { guard: null, rig: createV1Rig({ ...deps, behaviourOf }) };
}

/** Returns the index of the planned job that a job's config contains; 0 when it contains none. */
const jobIndexIn = (config: unknown): number =>
  typeof config === 'object' && config !== null && 'job' in config ? Number(config.job) : 0;

/** A training that succeeds after a few seconds. */
const short: TrainingBehaviour = {
  runsMs: 5e3,
  printsEveryMs: 2e3,
  ends: {
    code: 0,
    signal: null,
  },
  onTerm: 'dies',
  childrenMs: 0,
};

/**
 * Returns the result of starting a job on a rig. `run`: number of earlier trainers of the job. In a calm world, all trainings
 * are short.
 */
function startPlanFor(plan: Plan, rig: RigPlan, job: number, run: number, isCalm: boolean): StartPlan {
  if (isCalm) return short;
  const { starts: startPlans } = plan.jobs[job] ?? { starts: [short] as const };
  const startPlan = startPlans[Math.min(run, startPlans.length - 1)] ?? short;
  return rig.isBroken ? 'start_failed' : startPlan;
}

/** Returns the behaviour of a training. A v1 agent cannot report a failed start, so its trainer exits with 1 instead. */
const toBehaviour = (startPlan: StartPlan): TrainingBehaviour =>
  typeof startPlan === 'string'
    ? { ...short, runsMs: 300, printsEveryMs: null, ends: { code: 1, signal: null } }
    : startPlan;

/** See `Scene.calmSince`. */
function calmSince(world: VirtualClock, host: OrchestratorHost, disk: Disk, rig: Rig): number {
  const { stream } = rig.link;
  const isUp = rig.process?.isPaused === false && host.life?.process.isPaused === false;
  if (!isUp || disk.isFull || !rig.link.isCalm || stream === null || !stream.isHealthy) return world.mono();
  return Math.max(rig.link.disturbedAt, rig.changedAt, host.changedAt, stream.openSince);
}

function inWords({ changes, audits, inserted }: Committed): readonly string[] {
  const jobs = changes.map(({ was, next }) => {
    return `${was.id} ${was.status} -> ${next.status} (${eventOf(audits, { was, next })}) ${next.attempt?.id ?? ''} @${next.attempt?.workerId ?? ''}`;
  });
  const others = audits
    .filter(({ details }) => !('on' in details))
    .map(({ type, target, details }) => `${type} ${target.id} ${JSON.stringify(details)}`);
  return [...inserted.map(({ id }) => `${id} is new`), ...jobs, ...others];
}

function requestInWords(request: WireRequest): string {
  if (request.kind === 'person') return request.what;
  if (request.kind === 'panel') return `follows after ${request.after}`;
  const { about, jobId, attemptId, word } = readClaim(request);
  const [, call = ''] = /workers\/([a-z]+)/.exec(request.path) ?? [];
  return [about === 'other' ? call : about, word, jobId, attemptId].filter(part => part !== null).join(' ');
}

function answerInWords(answer: WireAnswer): string {
  if (answer.kind === 'failed') return answer.code;
  const fields: Readonly<Record<string, unknown>> = typeof answer.body === 'object' ? { ...answer.body } : {};
  const shownFields = ['code', 'duplicate', 'abandon_job', 'resume_job', 'cancel', 'jobId', 'workerId']
    .filter(name => fields[name] !== undefined && fields[name] !== null)
    .map(name => `${name} ${JSON.stringify(fields[name])}`);
  return [String(answer.status), ...shownFields].join(' ');
}
