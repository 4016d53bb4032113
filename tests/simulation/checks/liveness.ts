import type { Check, Scene, SceneRig } from '../world/scene.ts';
import { isFinal } from './ledger.ts';

/** Maximum time in ms from the last fault, or from the end of the last backoff, until a job has ended. */
const endWithinMs = 600_000;

/**
 * Computes the virtual time of the simulation by which all jobs must have ended: ten minutes after the last fault and the last
 * backoff. The returned check collects the backoffs.
 */
export function createDeadline() {
  let waitsUntil = 0;
  const check: Check = scene => ({
    onCommit({ changes }) {
      for (const { was, next } of changes) {
        if (next.status !== 'pending') continue;
        // When a parent ends, its child gets the full time.
        if (next.dependencies !== was.dependencies) waitsUntil = Math.max(waitsUntil, scene.world.mono());
        const waitMs = next.notBefore - scene.host.machine.wall();
        waitsUntil = Math.max(waitsUntil, scene.world.mono() + Math.max(0, waitMs));
      }
    },
  });
  return { check, after: (healedAt: number): number => Math.max(healedAt, waitsUntil) + endWithinMs };
}

export const haveAllEnded = ({ ledger }: Scene): boolean => ledger.jobs().every(isFinal);

export function reportWaitingJobs({ ledger, violate }: Scene): void {
  const waiting = ledger.jobs().filter(job => !isFinal(job));
  const words = waiting.map(
    ({ id, status, attempt }) => `${id} ${status} ${attempt?.id ?? ''} @${attempt?.workerId ?? ''}`,
  );
  violate('I1 every job ends', `not ended: ${words.join('; ')}`);
}

/** Checks at the end that each running worker has an online status, and that a drained worker is still draining. */
export const watchStatuses: Check = scene => ({
  atEnd() {
    for (const sceneRig of scene.rigs()) checkStatus(scene, sceneRig);
  },
});

function checkStatus(scene: Scene, { rig }: SceneRig): void {
  const seen = scene.host.life?.orchestrator.workers.get(rig.workerId);
  if (seen === undefined || !seen.ok || rig.process === null || rig.process.isPaused) return;
  const { status, status_reason: reason, drain } = seen.value;
  if (status === 'offline' || status === 'connecting')
    scene.violate(
      'no running worker is offline',
      `${rig.plan.name} runs, but is ${status} (${reason ?? ''})`,
    );
  if (drain !== null && status !== 'draining')
    scene.violate('I8 a drain lasts until it is undone', `${rig.plan.name} was drained, but is ${status}`);
}
