import { z } from 'zod';
import type { Engine, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import type { KubernetesSettings } from '../../../protocol/pool.ts';
import { checkCluster } from './check.ts';
import { type KubectlOptions, createKubectl, errorOf, isAlreadyThere, toFailure } from './kubectl.ts';
import { fleetLabel, jobManifest, launchLabel, launchName, secretManifest } from './manifests.ts';
import { JobsAndPods, Workloads, readSightings, suspendedUids } from './sightings.ts';

/** On Workloads, with the uid of their Job. */
const uidLabel = 'kueue.x-k8s.io/job-uid';

/** Selectors travel in URLs. */
const maxIdsPerCall = 100;

export interface KubernetesEngineOptions extends KubectlOptions {
  /** Part of the names of launches, and value of a label: lower-case letters and digits, at most 20. */
  readonly fleet: string;
  readonly settings: KubernetesSettings;
  /** The shell script that runs in the container; TRAINYARD_JOIN has the join token. */
  readonly start: (order: LaunchOrder) => string;
}

/** Validation is the server's: the client's would fetch its whole schema first. */
const create = ['create', '--filename=-', '--validate=false'];

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const inChunks = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / maxIdsPerCall) }, (_, at) =>
    ids.slice(at * maxIdsPerCall, (at + 1) * maxIdsPerCall),
  );

/**
 * Orders machines as Jobs by `kubectl`. The join token is in a Secret that belongs to the Job; it travels on stdin, and
 * the engine never reads it back.
 */
export function createKubernetesEngine(options: KubernetesEngineOptions): Engine {
  const { fleet, settings, start } = options;
  const kubectl = createKubectl(options, settings);

  async function demand(args: readonly string[]): Promise<string> {
    const { ok, stdout, stderr } = await kubectl(args);
    if (!ok) throw new Error(`kubectl ${args[0]} failed: ${errorOf(stderr)}`);
    return stdout;
  }

  async function get<T extends z.ZodType>(schema: T, what: string, selector: string): Promise<z.output<T>> {
    const printed = await demand(['get', what, `--selector=${selector}`, '--output=json']);
    const parsed = schema.safeParse(parseJson(printed));
    if (!parsed.success) throw new Error(`kubectl get ${what} printed something unexpected`);
    return parsed.data;
  }

  /** The uid of the Job. A Job of this name is the same order, made earlier. */
  async function createJob(order: LaunchOrder) {
    const made = await kubectl(
      [...create, '--output=jsonpath={.metadata.uid}'],
      jobManifest(fleet, settings, order, start(order)),
    );
    if (made.ok || !isAlreadyThere(made.stderr)) return made;
    return kubectl(['get', 'job', launchName(fleet, order.launchId), '--output=jsonpath={.metadata.uid}']);
  }

  /** A Secret of this name has the token of an earlier try, which may have been replaced. */
  async function createSecret(order: LaunchOrder, jobUid: string) {
    const manifest = secretManifest(fleet, order, jobUid);
    const made = await kubectl([...create, '--output=name'], manifest);
    if (made.ok || !isAlreadyThere(made.stderr)) return made;
    await demand(['delete', 'secret', manifest.metadata.name, '--ignore-not-found', '--wait=false']);
    return kubectl([...create, '--output=name'], manifest);
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

  async function list(): ReturnType<Engine['list']> {
    const { items } = await get(JobsAndPods, 'jobs,pods', `${fleetLabel}=${fleet}`);
    const uids = settings.queue === null ? [] : inChunks(suspendedUids(items));
    const workloads = await Promise.all(
      uids.map(some => get(Workloads, 'workloads.kueue.x-k8s.io', `${uidLabel} in (${some.join(',')})`)),
    );
    return readSightings(
      items,
      workloads.flatMap(found => found.items),
    );
  }

  /** Deleting a Job deletes its pods: they get SIGTERM and the grace period of the order. `now` shortens it to a second. */
  async function end(ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void> {
    for (const some of inChunks(ids)) {
      const selector = `--selector=${fleetLabel}=${fleet},${launchLabel} in (${some.join(',')})`;
      const common = [selector, '--ignore-not-found', '--wait=false'];
      await demand(['delete', 'jobs', ...common, '--cascade=foreground']);
      if (how === 'now') await demand(['delete', 'pods', ...common, '--now']);
    }
  }

  return {
    list,
    end,
    check: () => checkCluster(kubectl, settings),
    launch: order =>
      launch(order).catch((error: unknown) => ({
        kind: 'unknown',
        message: error instanceof Error ? error.message : String(error),
      })),
  };
}
