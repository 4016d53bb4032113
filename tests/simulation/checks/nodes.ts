import type { Check, Scene } from '../world/scene.ts';

/**
 * Checks jobs that train on several workers: their trainers start only when all workers are ready, a worker trains one job at a
 * time, and no worker stays reserved (held) for a job at the end.
 */
export const watchNodes: Check = scene => ({
  onTrainerStart({ attemptId, machine }) {
    if (attemptId === null) return;
    const waiting = scene.disk.store
      .nodesOf(attemptId)
      .filter(({ state }) => state === 'offered' || state === 'starting');
    if (waiting.length > 0)
      scene.violate(
        'no trainer of a job on several workers starts before all workers are ready',
        `${attemptId} starts on ${machine}, but ${waiting.map(({ workerId }) => workerId).join()} is not ready`,
      );
  },
  onCommit({ changes }) {
    if (changes.length === 0) return;
    for (const id of workersOf(scene)) {
      const live = scene.disk.store.liveJobOf(id);
      const node = scene.disk.store.heldNodeOf(id);
      if (live !== null && node !== null)
        scene.violate('a worker trains one job', `${id} runs ${live.id}, and is also held for ${node.jobId}`);
    }
  },
  atEnd() {
    for (const id of workersOf(scene)) {
      const node = scene.disk.store.heldNodeOf(id);
      if (node !== null)
        scene.violate(
          'no worker stays held after its job',
          `${id} is held for ${node.jobId} in the state ${node.state}`,
        );
    }
  },
});

const workersOf = (scene: Scene) => scene.rigs().map(({ rig }) => rig.workerId);
