import type { Sighting } from '../../orchestrator/ports/engines.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import { type Kubectl, inChunks, parseJson } from './kubectl.ts';
import { fleetLabel } from './manifests.ts';
import {
  Events,
  JobsAndPods,
  type LaunchObjects,
  type Workload,
  Workloads,
  groupByLaunch,
} from './objects.ts';
import { toExit, toSighting } from './sightings.ts';

const workloadsOfKueue = 'workloads.kueue.x-k8s.io';
/** Label of a Workload. Its value is the uid of the Job. */
const uidLabel = 'kueue.x-k8s.io/job-uid';

/** Returns the Workloads of suspended Jobs, by the uid of the Job. */
async function findWorkloads(kubectl: Kubectl, launches: readonly LaunchObjects[]) {
  const suspended = launches.filter(({ job }) => job.spec.suspend);
  const uids = suspended.map(({ job }) => job.metadata.uid);
  const lists = await Promise.all(
    inChunks(uids).map(chunk =>
      kubectl.get(Workloads, workloadsOfKueue, `${uidLabel} in (${chunk.join(',')})`),
    ),
  );
  return new Map(
    lists.flatMap(({ items }) =>
      items.flatMap(item => item.metadata.ownerReferences.map(({ uid }) => [uid, item] as const)),
    ),
  );
}

/**
 * Returns the errors of Jobs whose pods could not be created, by the uid of the Job. The errors only explain why launches wait.
 * So an account that may not read events gets an empty result, not an error.
 */
async function findRefusals(kubectl: Kubectl, launches: readonly LaunchObjects[]) {
  const isWithoutPod = (launch: LaunchObjects): boolean =>
    launch.pod === undefined && !launch.job.spec.suspend && toExit(launch) === null;
  if (!launches.some(isWithoutPod)) return new Map<string, string>();
  const selector = '--field-selector=reason=FailedCreate,involvedObject.kind=Job';
  const { ok, stdout } = await kubectl.run(['get', 'events', selector, '--output=json']);
  const parsed = Events.safeParse(ok ? parseJson(stdout) : undefined);
  const items = parsed.success ? parsed.data.items : [];
  return new Map(items.map(({ involvedObject, message }) => [involvedObject.uid, message]));
}

export interface Listing {
  readonly sightings: ReadonlyMap<LaunchId, Sighting>;
  /** Launches that have ended although Kueue would start their Jobs again. */
  readonly evicted: readonly LaunchId[];
}

/** Lists all launches of a fleet. Throws instead of returning an incomplete list. */
export async function listLaunches(kubectl: Kubectl, fleet: string, hasQueue: boolean): Promise<Listing> {
  const { items } = await kubectl.get(JobsAndPods, 'jobs,pods', `${fleetLabel}=${fleet}`);
  const launches = groupByLaunch(items);
  const all = [...launches.values()];
  const [workloads, refusals] = await Promise.all([
    hasQueue ? findWorkloads(kubectl, all) : new Map<string, Workload>(),
    findRefusals(kubectl, all),
  ]);
  const sightings = new Map<LaunchId, Sighting>();
  const evicted: LaunchId[] = [];
  for (const [launch, { job, pod }] of launches) {
    const { uid } = job.metadata;
    const sighting = toSighting({ job, pod, workload: workloads.get(uid), refusal: refusals.get(uid) });
    sightings.set(launch, sighting);
    if (sighting.state === 'ended' && job.spec.suspend) evicted.push(launch);
  }
  return { sightings, evicted };
}
