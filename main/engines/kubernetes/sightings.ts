import type { Sighting } from '../../orchestrator/ports/engines.ts';
import type { WaitingReason } from '../../../protocol/pool.ts';
import { cleanLine } from '../../../protocol/text.ts';
import { queueLabel } from './manifests.ts';
import { type LaunchObjects, type Pod, type Workload, findCondition } from './objects.ts';

const toMs = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null);

const toReason = (kind: WaitingReason['kind'], words: string): WaitingReason => ({
  kind,
  text: cleanLine(words).trim().slice(0, 300),
});

/** Returns the state of a launch. A launch counts as running while its pod still saves, even if the Job has ended. */
export function toSighting(objects: LaunchObjects): Sighting {
  const { job, pod } = objects;
  const isLive = pod !== undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
  const exit = isLive ? null : toExit(objects);
  const hasRun = pod !== undefined && containerStart(pod) !== null;
  const liveState = isLive && hasRun ? 'running' : 'waiting';
  const state = exit === null ? liveState : 'ended';
  return {
    engineId: job.metadata.name,
    state,
    reason: state === 'waiting' ? reasonOf(objects) : null,
    expectedStart: null,
    startedAt: pod === undefined ? null : startOf(pod),
    endsAt: state === 'running' && pod !== undefined ? endOf(objects, pod) : null,
    nodes: pod?.spec.nodeName ? [pod.spec.nodeName] : [],
    exit,
  };
}

function containerStart({ status }: Pod): number | null {
  const state = status.containerStatuses?.[0]?.state;
  return toMs(state?.running?.startedAt ?? state?.terminated?.startedAt);
}

/**
 * Returns when a pod got its GPUs in ms; null before that. The GPUs are reserved once the pod has a node, before the node has
 * downloaded the image.
 */
const startOf = (pod: Pod): number | null => toMs(pod.status.startTime) ?? containerStart(pod);

/** Returns the latest end of a pod in ms: its earliest deadline, or the end of a deletion's grace period. Null if unknown. */
function endOf({ job }: LaunchObjects, { metadata, spec, status }: Pod): number | null {
  const podDeadline = deadlineOf(status.startTime, spec.activeDeadlineSeconds);
  const graceMs = 1_000 * (spec.terminationGracePeriodSeconds ?? 0);
  const ends = [
    toMs(metadata.deletionTimestamp),
    podDeadline === null ? null : podDeadline + graceMs,
    deadlineOf(job.status.startTime, job.spec.activeDeadlineSeconds),
  ].filter(end => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Returns the deadline of an object in ms; null without a start or a deadline. */
function deadlineOf(startTime: string | null | undefined, seconds: number | null | undefined): number | null {
  const start = toMs(startTime);
  return start === null || !seconds ? null : start + 1_000 * seconds;
}

/** Returns how a launch ended; null while it has not ended. */
export function toExit({ job, pod, workload }: LaunchObjects): Sighting['exit'] {
  const { conditions } = job.status;
  if (findCondition(conditions, 'Complete') ?? findCondition(conditions, 'SuccessCriteriaMet'))
    return 'completed';
  if (pod?.status.phase === 'Succeeded') return 'completed';
  const failure = findCondition(conditions, 'Failed') ?? findCondition(conditions, 'FailureTarget');
  if (failure !== undefined || pod?.status.phase === 'Failed') {
    if (failure?.reason === 'DeadlineExceeded' || pod?.status.reason === 'DeadlineExceeded') return 'timeout';
    const disruption = findCondition(pod?.status.conditions, 'DisruptionTarget');
    // Kubernetes uses this reason when the node no longer exists.
    if (disruption?.reason === 'DeletionByPodGC') return 'node_failed';
    const isPreempted =
      disruption !== undefined ||
      pod?.status.reason === 'Evicted' ||
      (failure?.reason === 'PodFailurePolicy' && failure.message.includes('DisruptionTarget'));
    return isPreempted ? 'preempted' : 'failed';
  }
  // Kueue would start an evicted Job again, but its join token may be used up. So an evicted launch has ended.
  return job.spec.suspend && findCondition(workload?.status.conditions, 'Evicted') ? 'preempted' : null;
}

/** Returns the cluster's reason why a launch waits; null without one. */
function reasonOf({ job, pod, workload, refusal }: LaunchObjects): WaitingReason | null {
  if (pod !== undefined) return podReason(pod);
  if (!job.spec.suspend) {
    if (refusal === undefined) return null;
    return toReason(refusal.includes('exceeded quota') ? 'quota' : 'other', refusal);
  }
  if (workload !== undefined) return queueReason(workload);
  // Without a Workload, a Job with a queue has not been processed by Kueue yet.
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

/** Maps reasons of Kueue's condition QuotaReserved. Up to v1beta1, the only reason is `Pending`. */
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
