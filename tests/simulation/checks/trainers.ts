import type { JobId } from '../../../protocol/ids.ts';
import type { JobChange } from '../world/disk.ts';
import type { Check, Scene, SceneRig } from '../world/scene.ts';
import type { Trainer } from '../world/trainer.ts';
import type { WireRequest } from '../world/wire.ts';
import { eventOf, readClaim } from './authority.ts';
import { isLive } from './ledger.ts';

/**
 * Checks invariant I12 (docs/internals/faults.md) and related rules: compares the orchestrator's view of trainers with the
 * trainers that really run.
 */
export const watchTrainers: Check = scene => {
  /** Jobs that a user released from a silent worker. That user accepts that two trainers may run. */
  const released = new Set<JobId>();
  /** Attempts whose claim (the report `starting`) the orchestrator has accepted. */
  const claimed = new Set<string>();
  return {
    onAnswer(request, answer) {
      const { word, attemptId } = readClaim(request);
      const isTaken = answer.kind === 'answer' && answer.status === 200;
      if (word === 'starting' && attemptId !== null && isTaken) claimed.add(attemptId);
      if (answer.kind === 'answer') expectStop(scene, request, answer.body);
    },
    onTrainerStart(trainer) {
      expectNoOtherTrainer(scene, trainer, released);
      // A v2 agent starts no process before the orchestrator has accepted its claim.
      if (trainer.attemptId !== null && !claimed.has(trainer.attemptId))
        scene.violate(
          'no trainer starts before its claim is answered',
          `${trainer.jobId} starts on ${trainer.machine}`,
        );
    },
    onCommit(command) {
      for (const change of command.changes) {
        const on = eventOf(command.audits, change);
        if (on === 'release') released.add(change.was.id);
        if (on === 'vanished') expectTrainerGone(scene, change);
        if (on === 'complete' || on === 'fail' || on === 'stopped') expectEnded(scene, change, on);
      }
    },
    async atEnd() {
      for (const { jobId, machine } of scene.yard.alive())
        scene.violate(
          'no trainer outlives its job',
          `${jobId} has ended, but its trainer still runs on ${machine}`,
        );
    },
  };
};

/**
 * Maximum time in ms from an answer until the guard has read the order to stop. Includes the travel time of the answer and the
 * guard's reading interval.
 */
const orderLeewayMs = 5_000;

const holdsNow = ({ ledger }: Scene, { jobId, attemptId }: Trainer): boolean => {
  const job = ledger.job(jobId);
  return job !== null && (isLive(job) || job.status === 'pending') && job.attempt?.id === attemptId;
};

/** Expects that a worker stops its trainer after an answer that takes the job away. */
function expectStop(scene: Scene, request: WireRequest, body: unknown): void {
  const worker = request.kind === 'worker' ? scene.workerOf(request.token) : null;
  const sceneRig = worker === null ? null : scene.rigOf(worker);
  if (sceneRig === null || sceneRig.guard === null || typeof body !== 'object' || body === null) return;
  const { jobId } = readClaim(request);
  const isGivenAway =
    ('abandon_job' in body && body.abandon_job === jobId) || ('action' in body && body.action === 'stop');
  const trainer = scene.yard.on(sceneRig.rig.machine.name).find(running => running.jobId === jobId);
  // Skip the check when the same attempt became current again before the answer arrived.
  if (!isGivenAway || trainer === undefined || holdsNow(scene, trainer)) return;
  const answeredAt = scene.world.mono();
  scene.world.after(orderLeewayMs, () => {
    // The order is part of the answer, so the worker needs no stream to receive it.
    const hasReceived =
      sceneRig.rig.link.disturbedAt < answeredAt &&
      sceneRig.rig.changedAt < answeredAt &&
      sceneRig.rig.process?.isPaused === false;
    if (trainer.isAlive && !trainer.isStopRequested && hasReceived)
      scene.violate('a worker stops an abandoned job', `${trainer.jobId} still runs on ${trainer.machine}`);
  });
}

const rigOn = ({ rigs }: Scene, machine: string): SceneRig | undefined =>
  rigs().find(({ rig }) => rig.machine.name === machine);

const isV1On = (scene: Scene, machine: string): boolean => rigOn(scene, machine)?.rig.plan.protocol === 1;

/** Returns true when both trainers belong to one attempt on several workers. */
const isOnSeveral = ({ disk }: Scene, attemptId: Trainer['attemptId'], trainer: Trainer): boolean =>
  attemptId !== null && attemptId === trainer.attemptId && disk.store.nodesOf(attemptId).length > 0;

function expectNoOtherTrainer(scene: Scene, trainer: Trainer, released: ReadonlySet<JobId>): void {
  const { yard, ledger, violate } = scene;
  const others = yard.alive().filter(other => other !== trainer);
  // A killed v1 agent leaves its trainer behind as an orphan (docs/internals/worker-contract.md, section 3, item 12).
  const trainerOnMachine = others.find(({ machine }) => machine === trainer.machine);
  if (trainerOnMachine !== undefined && !isV1On(scene, trainer.machine))
    violate(
      'one trainer per machine',
      `${trainer.jobId} starts on ${trainer.machine}, where ${trainerOnMachine.jobId} runs`,
    );
  // A v1 agent cannot guarantee that a job has only one trainer, so check only v2 agents.
  const trainerOfJob = others.find(
    ({ jobId, attemptId, machine }) =>
      jobId === trainer.jobId && !isV1On(scene, machine) && !isOnSeveral(scene, attemptId, trainer),
  );
  const stops = ledger.job(trainer.jobId)?.spec.onLostContact === 'stop' && !released.has(trainer.jobId);
  if (trainerOfJob !== undefined && stops && !isV1On(scene, trainer.machine))
    violate(
      'I12 one live trainer per job',
      `${trainer.jobId} starts on ${trainer.machine}, but still runs on ${trainerOfJob.machine}`,
    );
}

/**
 * Returns true when a worker's report about its trainer must be right. A v1 agent can lose track of its trainer after a
 * disturbance.
 */
const isBelievable = (scene: Scene, { rig, guard }: SceneRig, trainer: Trainer): boolean =>
  guard !== null || (rig.link.isCalm && scene.calmSince(rig) < trainer.startedAt);

function trainerOf(
  scene: Scene,
  { was }: JobChange,
): { readonly sceneRig: SceneRig; readonly trainer: Trainer | null } | null {
  const sceneRig = was.attempt === null ? null : scene.rigOf(was.attempt.workerId);
  if (sceneRig === null) return null;
  const trainer = scene.yard
    .on(sceneRig.rig.machine.name)
    .find(
      ({ jobId, attemptId }) => jobId === was.id && (attemptId === null || attemptId === was.attempt?.id),
    );
  return { sceneRig, trainer: trainer ?? null };
}

/** Expects that a training which counts as vanished is really gone: neither its process nor a record of its end exists. */
function expectTrainerGone(scene: Scene, change: JobChange): void {
  const found = trainerOf(scene, change);
  if (found === null) return;
  const { sceneRig, trainer } = found;
  const { id, attempt } = change.was;
  if (trainer !== null && isBelievable(scene, sceneRig, trainer))
    scene.violate('a vanished training has ended', `${id} still runs on ${trainer.machine}`);
  if (attempt !== null && sceneRig.guard?.keeps(attempt.id) === true)
    scene.violate(
      'a vanished training has ended',
      `${sceneRig.rig.plan.name} still has a record of how ${id} ended`,
    );
}

/** Expects that no trainer of the job still runs when the orchestrator accepts its end. */
function expectEnded(scene: Scene, change: JobChange, on: string): void {
  const found = trainerOf(scene, change);
  if (found === null || found.trainer === null || !isBelievable(scene, found.sceneRig, found.trainer)) return;
  scene.violate(
    'a reported end has happened',
    `${change.was.id}: the event is ${on}, but the trainer still runs on ${found.trainer.machine}`,
  );
}
