import type { Engine, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import type { KubernetesSettings } from '../../../protocol/pool.ts';
import { checkCluster } from './check.ts';
import { type KubectlOptions, createKubectl, inChunks, isAlreadyThere, toFailure } from './kubectl.ts';
import { listLaunches } from './listing.ts';
import { fleetLabel, jobManifest, launchLabel, launchName, secretManifest } from './manifests.ts';

export interface KubernetesEngineOptions extends KubectlOptions {
  /** Part of the names of launches, and value of a label: lower-case letters and digits, at most 20. */
  readonly fleet: string;
  readonly settings: KubernetesSettings;
  /** The shell script that runs in the container; TRAINYARD_JOIN has the join token. */
  readonly start: (order: LaunchOrder) => string;
}

/** Validation is the server's: the client's would fetch its whole schema first. */
const create = ['create', '--filename=-', '--validate=false'];

/**
 * Orders machines as Jobs by `kubectl`. The join token is in a Secret that belongs to the Job; it travels on stdin, and
 * the engine never reads it back.
 */
export function createKubernetesEngine(options: KubernetesEngineOptions): Engine {
  const { fleet, settings, start } = options;
  const kubectl = createKubectl(options, settings);

  /** The uid of the Job. A Job of this name is the same order, made earlier. */
  async function createJob(order: LaunchOrder) {
    const made = await kubectl.run(
      [...create, '--output=jsonpath={.metadata.uid}'],
      jobManifest(fleet, settings, order, start(order)),
    );
    if (made.ok || !isAlreadyThere(made.stderr)) return made;
    return kubectl.run([
      'get',
      'job',
      launchName(fleet, order.launchId),
      '--output=jsonpath={.metadata.uid}',
    ]);
  }

  /** A Secret of this name has the token of an earlier try, which may have been replaced. */
  async function createSecret(order: LaunchOrder, jobUid: string) {
    const manifest = secretManifest(fleet, order, jobUid);
    const made = await kubectl.run([...create, '--output=name'], manifest);
    if (made.ok || !isAlreadyThere(made.stderr)) return made;
    await kubectl.demand(['delete', 'secret', manifest.metadata.name, '--ignore-not-found', '--wait=false']);
    return kubectl.run([...create, '--output=name'], manifest);
  }

  async function launch(order: LaunchOrder): ReturnType<Engine['launch']> {
    if (order.nodes > 1)
      return {
        kind: 'rejected',
        scope: 'permanent',
        code: 'nodes',
        message: 'Pools of Kubernetes give one machine for each launch',
      };
    const job = await createJob(order);
    if (!job.ok) return toFailure(job.stderr);
    const secret = await createSecret(order, job.stdout.trim());
    if (secret.ok) return { kind: 'accepted', engineId: launchName(fleet, order.launchId) };
    // Its pod would wait for the Secret for ever.
    await end([order.launchId], 'now');
    const failure = toFailure(secret.stderr);
    return failure.kind === 'rejected'
      ? failure
      : { kind: 'rejected', scope: 'temporary', code: 'secret', message: failure.message };
  }

  /** Deleting a Job deletes its pods: they get SIGTERM and the grace period of the order. `now` shortens it to a second. */
  async function end(ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void> {
    for (const some of inChunks(ids)) {
      const selector = `--selector=${fleetLabel}=${fleet},${launchLabel} in (${some.join(',')})`;
      const common = [selector, '--ignore-not-found', '--wait=false'];
      await kubectl.demand(['delete', 'jobs', ...common, '--cascade=foreground']);
      if (how === 'now') await kubectl.demand(['delete', 'pods', ...common, '--now']);
    }
  }

  return {
    end,
    async list() {
      const { sightings, evicted } = await listLaunches(kubectl, fleet, settings.queue !== null);
      // Their join tokens are used up. If this fails, the next list tries it again.
      await end(evicted, 'now').catch(() => {});
      return sightings;
    },
    check: () => checkCluster(kubectl, settings),
    async launch(order) {
      const answer = await launch(order).catch((error: unknown) => ({
        kind: 'unknown' as const,
        message: error instanceof Error ? error.message : String(error),
      }));
      if (answer.kind === 'accepted') return answer;
      // kubectl may quote the Secret in an error.
      return { ...answer, message: answer.message.replaceAll(order.joinToken, '...') };
    },
  };
}
