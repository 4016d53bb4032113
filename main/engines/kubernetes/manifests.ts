import type { LaunchOrder } from '../../orchestrator/ports/engines.ts';
import type { LaunchId } from '../../../protocol/ids.ts';
import type { KubernetesSettings } from '../../../protocol/pool.ts';
import { noticeSignal, tokenVariable } from '../start-script.ts';

/** Labels of the Job, its pod and its Secret. */
export const fleetLabel = 'trainyard/fleet';
export const launchLabel = 'trainyard/launch';
export const queueLabel = 'kueue.x-k8s.io/queue-name';

const secondsInWeek = 604_800;

/**
 * Returns the name of a launch's Job and Secret. Kubernetes allows each name once, so a repeated order creates no second machine.
 */
export const launchName = (fleet: string, launch: LaunchId): string => `trainyard-${fleet}-${launch}`;

const labelsOf = (fleet: string, launch: LaunchId) => ({ [fleetLabel]: fleet, [launchLabel]: launch });

/**
 * Shell script of the container's first process. Kubernetes sends SIGTERM to this process before each kind of end: a preemption,
 * a drained node, the deadline and a deletion. The script passes the signal on to the worker as the notice. The signal interrupts
 * `wait`, which then returns an exit code above 128. The script therefore calls `wait` again.
 */
const firstProcess = `sh -c "$1" & worker=$!
trap 'told=1; kill -${noticeSignal} $worker' TERM
while told=; wait $worker; code=$?; [ -n "$told" ] && [ $code -gt 128 ]; do :; done
exit $code`;

/** Doubles each `$`, because Kubernetes replaces `$(NAME)` in commands, and `$$` by `$`. */
const escapeDollars = (script: string): string => script.replaceAll('$', () => '$$');

/**
 * Returns the Job of a launch. The pod's deadline counts from its arrival on a node. At that deadline, `noticeS` before the end
 * of the wall time, the pod gets SIGTERM and the worker its notice. The Job's deadline also counts the time in the queue, so it
 * is only a last resort.
 */
export function jobManifest(fleet: string, settings: KubernetesSettings, order: LaunchOrder, script: string) {
  const labels = labelsOf(fleet, order.launchId);
  const queued = settings.queue !== null;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: launchName(fleet, order.launchId),
      labels: { ...labels, ...(queued && { [queueLabel]: settings.queue }) },
    },
    spec: {
      // Kueue resumes the Job when the quota allows it.
      ...(queued && { suspend: true }),
      parallelism: 1,
      completions: 1,
      // Create no second pod, because it could not join: the join token works only once.
      backoffLimit: 0,
      // Record a preemption in the Job, because the pod with the reason is deleted.
      podFailurePolicy: {
        rules: [{ action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      activeDeadlineSeconds: secondsInWeek + order.wallTimeS,
      ttlSecondsAfterFinished: 600,
      template: {
        metadata: { labels },
        spec: podSpec(launchName(fleet, order.launchId), settings, order, script),
      },
    },
  };
}

function podSpec(name: string, settings: KubernetesSettings, order: LaunchOrder, script: string) {
  const { cpus, memory_gb, gpu_resource, service_account } = settings;
  const gpus = order.gpus > 0 ? { [gpu_resource]: String(order.gpus) } : {};
  const requests = {
    ...(cpus !== null && { cpu: String(cpus) }),
    ...(memory_gb !== null && { memory: `${memory_gb}G` }),
  };
  return {
    restartPolicy: 'Never',
    activeDeadlineSeconds: Math.max(1, order.wallTimeS - order.noticeS),
    terminationGracePeriodSeconds: order.noticeS,
    nodeSelector: settings.node_selector,
    ...(order.gpus > 0 && { tolerations: [{ key: gpu_resource, operator: 'Exists' }] }),
    ...(service_account === null
      ? { automountServiceAccountToken: false }
      : { serviceAccountName: service_account }),
    enableServiceLinks: false,
    containers: [
      {
        name: 'worker',
        image: settings.image,
        command: ['/bin/sh', '-c', firstProcess, 'trainyard', script].map(escapeDollars),
        // The pod waits until the Secret exists.
        env: [{ name: tokenVariable, valueFrom: { secretKeyRef: { name, key: tokenVariable } } }],
        resources: { limits: gpus, requests: { ...requests, ...gpus } },
        volumeMounts: [{ name: 'shm', mountPath: '/dev/shm' }],
      },
    ],
    // The default size of 64 MB is too small for data loaders.
    volumes: [{ name: 'shm', emptyDir: { medium: 'Memory' } }],
  };
}

/** Returns the Secret of a launch. The Job owns the Secret, so the cluster deletes both together. */
export function secretManifest(fleet: string, order: LaunchOrder, jobUid: string) {
  const name = launchName(fleet, order.launchId);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      labels: labelsOf(fleet, order.launchId),
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid: jobUid }],
    },
    type: 'Opaque',
    stringData: { [tokenVariable]: order.joinToken },
  };
}

/** Permissions that the engine needs in the namespace. Reading Secrets is not among them. */
const requiredAccess = [
  { verb: 'create', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: 'batch', resource: 'jobs' },
  { verb: 'get', group: 'batch', resource: 'jobs' },
  { verb: 'delete', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'delete', group: '', resource: 'pods' },
  { verb: 'create', group: '', resource: 'secrets' },
  { verb: 'delete', group: '', resource: 'secrets' },
] as const;

/** Additional permissions for a queue of Kueue. */
const requiredKueueAccess = [
  { verb: 'list', group: 'kueue.x-k8s.io', resource: 'workloads' },
  { verb: 'list', group: 'kueue.x-k8s.io', resource: 'localqueues' },
] as const;

/** Returns the reviews that check all permissions in one call. `kubectl auth can-i` would need a call for each permission. */
export const accessReviews = (namespace: string, hasQueue: boolean) => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [...requiredAccess, ...(hasQueue ? requiredKueueAccess : [])].map(access => ({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace, ...access } },
  })),
});
