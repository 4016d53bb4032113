import type { WorkerId } from '../../../protocol/ids.ts';
import type { Check } from '../world/scene.ts';
import type { ServerEnd } from '../world/wire.ts';

/** Checks that the newest stream of a worker stays registered until it closes. The end of an older stream must change nothing. */
export const watchStreams: Check = scene => {
  const newest = new Map<WorkerId, ServerEnd>();
  const compare = (worker: WorkerId): void => {
    const { life } = scene.host;
    const seen = life?.orchestrator.workers.get(worker);
    if (life === null || life.process.isPaused || !newest.has(worker) || seen === undefined || !seen.ok)
      return;
    if (seen.value.status_reason === 'no_stream')
      scene.violate(
        'the newest stream of a worker is registered',
        `${worker} has an open stream, but its status says no_stream`,
      );
  };
  return {
    onLife: () => newest.clear(),
    onStream(worker, end, what) {
      if (what === 'open') newest.set(worker, end);
      else if (newest.get(worker) === end) newest.delete(worker);
      else scene.world.after(1, () => compare(worker));
    },
  };
};
