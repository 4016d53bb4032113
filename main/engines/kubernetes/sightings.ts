import { z } from 'zod';
import type { Sighting } from '../../orchestrator/ports/engines.ts';
import { LaunchId } from '../../../protocol/ids.ts';
import { cleanLine } from '../../../protocol/text.ts';
import type { WaitingReason } from '../../../protocol/pool.ts';
import { launchLabel, queueLabel } from './manifests.ts';

const text = z.string().default('');
const time = z.string().nullish();
const Conditions = z
  .array(z.object({ type: z.string(), status: z.string(), reason: text, message: text }))
  .nullish();
const Meta = z.object({
  uid: text,
  name: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  creationTimestamp: text,
  deletionTimestamp: time,
  ownerReferences: z.array(z.object({ uid: z.string() })).default([]),
});
const ContainerState = z.object({
  waiting: z.object({ reason: text, message: text }).optional(),
  running: z.object({ startedAt: time }).optional(),
  terminated: z.object({ startedAt: time }).optional(),
});
const Job = z.object({
  kind: z.literal('Job'),
  metadata: Meta,
  spec: z.object({ suspend: z.boolean().default(false), activeDeadlineSeconds: z.number().nullish() }),
  status: z.object({ conditions: Conditions, startTime: time }).default({}),
});
const Pod = z.object({
  kind: z.literal('Pod'),
  metadata: Meta,
  spec: z.object({
    nodeName: z.string().nullish(),
    activeDeadlineSeconds: z.number().nullish(),
    terminationGracePeriodSeconds: z.number().nullish(),
  }),
  status: z
    .object({
      phase: text,
      reason: text,
      message: text,
      startTime: time,
      conditions: Conditions,
      containerStatuses: z.array(z.object({ state: ContainerState.default({}) })).nullish(),
    })
    .prefault({}),
});
const Workload = z.object({
  kind: z.literal('Workload'),
  metadata: Meta,
  status: z
    .object({
      conditions: Conditions,
      admissionChecks: z.array(z.object({ name: z.string(), state: z.string(), message: text })).nullish(),
    })
    .default({}),
});
type Job = z.output<typeof Job>;
type Pod = z.output<typeof Pod>;
type Workload = z.output<typeof Workload>;

/** What `kubectl get jobs,pods -o json` prints. */
export const JobsAndPods = z.object({ items: z.array(z.discriminatedUnion('kind', [Job, Pod])) });
export const Workloads = z.object({ items: z.array(Workload) });
type Items = z.output<typeof JobsAndPods>['items'];

const findCondition = (conditions: z.output<typeof Conditions>, type: string, status = 'True') =>
  conditions?.find(each => each.type === type && each.status === status);

const toMs = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null);

const toReason = (kind: WaitingReason['kind'], words: string): WaitingReason => ({
  kind,
  text: cleanLine(words).trim().slice(0, 300),
});

/** Jobs whose Workloads tell why they wait. */
export const suspendedUids = (items: Items): readonly string[] =>
  items.flatMap(item => (item.kind === 'Job' && item.spec.suspend ? [item.metadata.uid] : []));

/** One sighting for each Job that has the label of a launch. */
export function readSightings(items: Items, workloads: readonly Workload[]): ReadonlyMap<LaunchId, Sighting> {
  const pods = Map.groupBy(
    items.filter(item => item.kind === 'Pod'),
    pod => pod.metadata.labels[launchLabel],
  );
  return new Map(
    items.flatMap(item => {
      const launch = LaunchId.safeParse(item.metadata.labels[launchLabel]);
      if (item.kind !== 'Job' || !launch.success) return [];
      const own = pods.get(launch.data) ?? [];
      const pod = own.toSorted((a, b) =>
        a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1,
      )[0];
      const workload = workloads.find(({ metadata }) =>
        metadata.ownerReferences.some(({ uid }) => uid === item.metadata.uid),
      );
      return [[launch.data, toSighting(item, pod, workload)] as const];
    }),
  );
}

/** A pod that saves before it leaves still has its machine, whatever the Job says. */
function toSighting(job: Job, pod: Pod | undefined, workload: Workload | undefined): Sighting {
  const isLive = pod !== undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
  const exit = isLive ? null : toExit(job, pod, workload);
  const startedAt = pod === undefined ? null : startOf(pod);
  const state = exit !== null ? 'ended' : isLive && startedAt !== null ? 'running' : 'waiting';
  return {
    engineId: job.metadata.name,
    state,
    reason: state === 'waiting' ? reasonOf(job, pod, workload) : null,
    expectedStart: null,
    startedAt,
    endsAt: state === 'running' && pod !== undefined ? endOf(job, pod) : null,
    nodes: pod?.spec.nodeName ? [pod.spec.nodeName] : [],
    exit,
  };
}

function startOf({ status }: Pod): number | null {
  const state = status.containerStatuses?.[0]?.state;
  return toMs(state?.running?.startedAt ?? state?.terminated?.startedAt);
}

/** The earliest of its deadlines, or the end of the grace period when it is being deleted. */
function endOf(job: Job, { metadata, spec, status }: Pod): number | null {
  const podStart = toMs(status.startTime);
  const jobStart = toMs(job.status.startTime);
  const ends = [
    toMs(metadata.deletionTimestamp),
    podStart === null || !spec.activeDeadlineSeconds
      ? null
      : podStart + 1_000 * (spec.activeDeadlineSeconds + (spec.terminationGracePeriodSeconds ?? 0)),
    jobStart === null || !job.spec.activeDeadlineSeconds
      ? null
      : jobStart + 1_000 * job.spec.activeDeadlineSeconds,
  ].filter(end => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** How it ended; null while it may still get a machine. */
function toExit(job: Job, pod: Pod | undefined, workload: Workload | undefined): Sighting['exit'] {
  const { conditions } = job.status;
  if (findCondition(conditions, 'Complete') ?? findCondition(conditions, 'SuccessCriteriaMet'))
    return 'completed';
  if (pod?.status.phase === 'Succeeded') return 'completed';
  const failure = findCondition(conditions, 'Failed') ?? findCondition(conditions, 'FailureTarget');
  if (failure !== undefined || pod?.status.phase === 'Failed') {
    if (failure?.reason === 'DeadlineExceeded' || pod?.status.reason === 'DeadlineExceeded') return 'timeout';
    const disruption = findCondition(pod?.status.conditions, 'DisruptionTarget');
    // The node no longer exists.
    if (disruption?.reason === 'DeletionByPodGC') return 'node_failed';
    const isPreempted =
      disruption !== undefined ||
      pod?.status.reason === 'Evicted' ||
      (failure?.reason === 'PodFailurePolicy' && failure.message.includes('DisruptionTarget'));
    return isPreempted ? 'preempted' : 'failed';
  }
  // Kueue queues it again, but its join token may be used up.
  return job.spec.suspend && findCondition(workload?.status.conditions, 'Evicted') ? 'preempted' : null;
}

/** Only what the cluster says: a launch without a word about it has no reason. */
function reasonOf(job: Job, pod: Pod | undefined, workload: Workload | undefined): WaitingReason | null {
  if (pod !== undefined) return podReason(pod);
  if (!job.spec.suspend) return null;
  if (workload !== undefined) return queueReason(workload);
  // Kueue has not looked at it yet.
  return queueLabel in job.metadata.labels ? null : toReason('held', 'The Job is suspended.');
}

function podReason({ status }: Pod): WaitingReason | null {
  const unscheduled = findCondition(status.conditions, 'PodScheduled', 'False');
  if (unscheduled?.reason === 'Unschedulable') return toReason('resources', unscheduled.message);
  if (unscheduled !== undefined) return toReason('held', `${unscheduled.reason}: ${unscheduled.message}`);
  const waiting = status.containerStatuses?.[0]?.state.waiting;
  const isOrdinary =
    waiting === undefined || waiting.reason === 'ContainerCreating' || waiting.reason === 'PodInitializing';
  return isOrdinary ? null : toReason('other', `${waiting.reason}: ${waiting.message}`);
}

/** Reasons of Kueue's condition QuotaReserved: `Pending` up to v1beta1, finer ones since. */
const kindOfQueueReason: Readonly<Record<string, WaitingReason['kind']>> = {
  Pending: 'quota',
  WaitingForQuota: 'quota',
  ExceedsMaxQuota: 'quota',
  WaitingForPreemptedWorkloads: 'quota',
  NoMatchingFlavor: 'resources',
  TopologyPlacementFailed: 'resources',
  Suspended: 'held',
};

function queueReason({ status }: Workload): WaitingReason | null {
  const unreserved = findCondition(status.conditions, 'QuotaReserved', 'False');
  if (unreserved !== undefined)
    return toReason(kindOfQueueReason[unreserved.reason] ?? 'other', unreserved.message);
  const check = status.admissionChecks?.find(({ state }) => state !== 'Ready');
  return check === undefined ? null : toReason('other', `${check.name}: ${check.state} ${check.message}`);
}
