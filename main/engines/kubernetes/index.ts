import type { Engine, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import type { KubernetesSettings } from '../../../protocol/pool.ts';
import { checkCluster } from './check.ts';
import { type KubectlOptions, createKubectl, inChunks, isAlreadyThere, toFailure } from './kubectl.ts';
import { listLaunches } from './listing.ts';
import { fleetLabel, jobManifest, launchLabel, launchName, secretManifest } from './manifests.ts';

export interface KubernetesEngineOptions extends KubectlOptions {
  /** Id of the fleet, part of launch names and the value of a label: at most 20 lower-case letters and digits. */
  readonly fleet: string;
  readonly settings: KubernetesSettings;
  /** Returns the shell script for the container. The script expects the join token in TRAINYARD_JOIN. */
  readonly start: (order: LaunchOrder) => string;
}

/** The server validates objects. Validation by kubectl would first download the server's whole schema. */
const create = ['create', '--filename=-', '--validate=false'];

/**
 * Creates an engine that orders machines as Kubernetes Jobs through `kubectl`. The join token is in a Secret that belongs to the
 * Job. kubectl gets the Secret on stdin. The engine never reads Secrets.
 */
export function createKubernetesEngine(options: KubernetesEngineOptions): Engine {
  const { fleet, settings, start } = options;
  const kubectl = createKubectl(options, settings);

  /** Creates the Job and returns its uid. If the Job exists, an earlier try of the same order created it. */
  async function createJob(order: LaunchOrder) {
    const created = await kubectl.run(
      [...create, '--output=jsonpath={.metadata.uid}'],
      jobManifest(fleet, settings, order, start(order)),
    );
    if (created.ok || !isAlreadyThere(created.stderr)) return created;
    return kubectl.run([
      'get',
      'job',
      launchName(fleet, order.launchId),
      '--output=jsonpath={.metadata.uid}',
    ]);
  }

  /**
   * Creates the Secret. Replaces an existing Secret of this name, because the token in it is from an earlier try and may be
   * outdated.
   */
  async function createSecret(order: LaunchOrder, jobUid: string) {
    const manifest = secretManifest(fleet, order, jobUid);
    const created = await kubectl.run([...create, '--output=name'], manifest);
    if (created.ok || !isAlreadyThere(created.stderr)) return created;
    await kubectl.runOrThrow([
      'delete',
      'secret',
      manifest.metadata.name,
      '--ignore-not-found',
      '--wait=false',
    ]);
    return kubectl.run([...create, '--output=name'], manifest);
  }

  async function launch(order: LaunchOrder): ReturnType<Engine['launch']> {
    if (order.nodes > 1)
      return {
        kind: 'rejected',
        scope: 'permanent',
        code: 'nodes',
        message:
          'A Kubernetes pool provides one machine for each launch: use another pool for jobs on several machines',
      };
    const job = await createJob(order);
    if (!job.ok) return toFailure(job.stderr);
    const secret = await createSecret(order, job.stdout.trim());
    if (secret.ok) return { kind: 'accepted', engineId: launchName(fleet, order.launchId) };
    // Without the Secret, the pod would wait forever.
    await end([order.launchId], 'now');
    const failure = toFailure(secret.stderr);
    return failure.kind === 'rejected'
      ? failure
      : { kind: 'rejected', scope: 'temporary', code: 'secret', message: failure.message };
  }

  /**
   * Deletes Jobs. The cluster then deletes their pods, which get SIGTERM and the order's grace period. With `now`, the grace
   * period is one second.
   */
  async function end(ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void> {
    for (const chunk of inChunks(ids)) {
      const selector = `--selector=${fleetLabel}=${fleet},${launchLabel} in (${chunk.join(',')})`;
      const common = [selector, '--ignore-not-found', '--wait=false'];
      await kubectl.runOrThrow(['delete', 'jobs', ...common, '--cascade=foreground']);
      if (how === 'now') await kubectl.runOrThrow(['delete', 'pods', ...common, '--now']);
    }
  }

  return {
    end,
    async list() {
      const { sightings, evicted } = await listLaunches(kubectl, fleet, settings.queue !== null);
      // Evicted launches cannot join again, because their join tokens are used up. If this call fails, the next list repeats it.
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
      // An error of kubectl may quote the Secret.
      return { ...answer, message: answer.message.replaceAll(order.joinToken, '...') };
    },
  };
}
