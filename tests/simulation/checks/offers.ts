import type { AttemptId, WorkerId } from '../../../protocol/ids.ts';
import { readClaim } from './authority.ts';
import type { Attempt } from '../../../main/orchestrator/ports/index.ts';
import { timesFrom } from '../../../main/orchestrator/rules/times.ts';
import type { Check } from '../world/scene.ts';

/** Minimum time in ms from the answer to a final report until the next offer to a published (v1) agent. */
const cooldownMs = 50;
/** The same time after a cancelled job, whose trainer the agent must stop first. */
const cooldownAfterCancelMs = 500;

/** Number of unacknowledged offers after which the orchestrator quarantines a worker. */
const maxMissed = 3;

/** Maximum delay of a repeated offer in virtual ms of the simulation. The ticks and the drift of clocks cause the delay. */
const leewayMs = 2_500;

interface Sent {
  readonly at: number;
  /**
   * Summary of the conditions at the first offer. As long as the conditions stay the same, the orchestrator must send each
   * repetition.
   */
  readonly conditions: string;
  times: number;
}

/** Checks that the orchestrator repeats an offer before withdrawing it, and that it sends the offer to a reachable worker. */
export const watchOffers: Check = scene => {
  const { plan, world, host } = scene;
  const { repeatOfferMs } = timesFrom(plan.heartbeatTimeoutMs);
  const sent = new Map<AttemptId, Sent>();
  const streams = new Map<WorkerId, number>();
  const hasFullDisk = plan.faults.some(({ kind }) => kind === 'disk full');
  const conditionsOf = (worker: WorkerId): string =>
    [streams.get(worker) ?? 0, host.pauses, host.changedAt].join();

  const objection = (attempt: Attempt): string | null => {
    const first = sent.get(attempt.id);
    const sceneRig = scene.rigOf(attempt.workerId);
    if (first === undefined || sceneRig === null) return null;
    const isUnchanged = first.conditions === conditionsOf(attempt.workerId);
    if (!hasFullDisk && isUnchanged && first.times <= repeatOfferMs.length)
      return `was sent ${first.times} times`;
    const reachableSince = scene.calmSince(sceneRig.rig);
    const couldBeReached = reachableSince <= first.at + (repeatOfferMs[0] ?? 0) - leewayMs;
    return couldBeReached && !sceneRig.rig.isBusy ? 'was not sent to a reachable worker' : null;
  };
  return {
    onStream: worker => void streams.set(worker, (streams.get(worker) ?? 0) + 1),
    onFrame(worker, _token, command) {
      if (command.type !== 'job_submit') return;
      const before = sent.get(command.attempt_id);
      if (before === undefined)
        sent.set(command.attempt_id, { at: world.mono(), conditions: conditionsOf(worker), times: 1 });
      else before.times += 1;
    },
    onCommit({ cause, changes }) {
      for (const { was, next } of changes) {
        if (cause !== null || next.attempt?.end?.outcome !== 'withdrawn' || was.attempt === null) continue;
        const problem = objection(was.attempt);
        if (problem !== null)
          scene.violate(
            'an offer is repeated before it is withdrawn',
            `${was.id} was withdrawn: ${was.attempt.id} ${problem}`,
          );
      }
    },
  };
};

/** Checks that the orchestrator quarantines a connected worker that leaves several offers in a row unacknowledged. */
export const watchMute: Check = scene => {
  /** Number of missed offers of each worker since the orchestrator's process last started, stopped, paused or resumed. */
  const missed = new Map<WorkerId, { readonly hostChangedAt: number; readonly count: number }>();
  const sentAt = new Map<AttemptId, number>();
  return {
    onFrame(_worker, _token, command) {
      if (command.type === 'job_submit' && !sentAt.has(command.attempt_id))
        sentAt.set(command.attempt_id, scene.world.mono());
    },
    onCommit({ changes }) {
      for (const { was, next } of changes) {
        const attempt = was.attempt;
        if (attempt === null || next.attempt?.end?.outcome !== 'withdrawn') continue;
        const sceneRig = scene.rigOf(attempt.workerId);
        if (sceneRig?.rig.plan.isMute !== true) continue;
        const worker = scene.disk.store.worker(attempt.workerId);
        const isCalm = scene.calmSince(sceneRig.rig) <= (sentAt.get(attempt.id) ?? 0);
        const known = missed.get(attempt.workerId);
        const hostChangedAt = scene.host.changedAt;
        const before = known?.hostChangedAt === hostChangedAt ? known.count : 0;
        const count = worker?.quarantine === null ? before + (isCalm ? 1 : 0) : 0;
        missed.set(attempt.workerId, { hostChangedAt, count });
        if (count >= maxMissed)
          scene.violate(
            'a worker that acknowledges no offer is quarantined',
            `${attempt.workerId} left ${count} offers unacknowledged and is not in quarantine`,
          );
      }
    },
  };
};

/**
 * Checks that a v1 agent gets no offer right after the answer to its last report. The agent would drop such an offer
 * (docs/internals/worker-contract.md, section 3).
 */
export const watchSettling: Check = scene => {
  /** Times on the orchestrator's machine at which the cooldowns of the workers end. */
  const cooldownEnds = new Map<WorkerId, number>();
  return {
    onAnswer(request, answer) {
      const worker = request.kind === 'worker' ? scene.workerOf(request.token) : null;
      const { about, word } = readClaim(request);
      if (worker === null || about !== 'report' || answer.kind === 'failed' || answer.status === 401) return;
      if (word !== 'completed' && word !== 'failed' && word !== 'cancelled') return;
      const lengthMs = word === 'cancelled' ? cooldownAfterCancelMs : cooldownMs;
      cooldownEnds.set(worker, scene.host.machine.mono() + lengthMs);
    },
    onFrame(worker, _token, command) {
      const isV1 = scene.rigOf(worker)?.rig.plan.protocol === 1;
      const leftMs = (cooldownEnds.get(worker) ?? 0) - scene.host.machine.mono();
      if (command.type === 'job_submit' && isV1 && leftMs > 0)
        scene.violate(
          'the published agent gets a cooldown before an offer',
          `${command.job_id} is offered to ${worker} ${leftMs} ms too early`,
        );
    },
  };
};
