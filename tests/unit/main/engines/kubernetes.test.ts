/**
 * Tests how the engine interprets the objects of a cluster. tests/support/kubernetes-recordings.ts names the sources of
 * the statuses.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { toFailure } from '../../../../main/engines/kubernetes/kubectl.ts';
import { jobManifest } from '../../../../main/engines/kubernetes/manifests.ts';
import { JobsAndPods, Workloads, groupByLaunch } from '../../../../main/engines/kubernetes/objects.ts';
import { toSighting } from '../../../../main/engines/kubernetes/sightings.ts';
import { LaunchId } from '../../../../protocol/ids.ts';
import { EngineSettings, type KubernetesSettings } from '../../../../protocol/pool.ts';
import { orderOf } from '../../../support/engine-contract.ts';
import {
  disruptions,
  jobs,
  podQuotaMessage,
  pods,
  quotaMessage,
  unschedulableMessage,
  workloads,
} from '../../../support/kubernetes-recordings.ts';

const launch = LaunchId.parse('a1');

// Statuses of the Kubernetes objects of one launch.
interface ClusterState {
  readonly job?: object;
  readonly pod?: object;
  readonly workload?: object;
  readonly refusal?: string;
  readonly queue?: string;
  readonly suspend?: boolean;
}

/** Returns the launch that the engine lists when the objects have these statuses. */
function sightingOf({ job = {}, pod, workload, refusal, queue, suspend = false }: ClusterState) {
  const settings = EngineSettings.parse({
    kind: 'kubernetes',
    image: 'trainer',
    queue: queue ?? null,
  }) as KubernetesSettings;
  const manifest = jobManifest('f', settings, orderOf(launch), 'true');
  const { items } = JobsAndPods.parse({
    items: [
      {
        ...manifest,
        metadata: { ...manifest.metadata, uid: 'u1' },
        spec: { ...manifest.spec, suspend },
        status: job,
      },
      ...(pod === undefined
        ? []
        : [
            {
              ...manifest.spec.template,
              kind: 'Pod',
              metadata: { ...manifest.spec.template.metadata, name: 'p' },
              status: pod,
            },
          ]),
    ],
  });
  const metadata = { name: 'w', ownerReferences: [{ uid: 'u1' }] };
  const parsedList = Workloads.parse({
    items: workload === undefined ? [] : [{ kind: 'Workload', metadata, status: workload }],
  });
  const objects = groupByLaunch(items).get(launch);
  return objects && toSighting({ ...objects, workload: parsedList.items[0], refusal });
}

const waiting = (kind: string, text: string) => ({
  state: 'waiting',
  reason: { kind, text },
  startedAt: null,
  exit: null,
});
const waitingWithoutReason = { state: 'waiting', reason: null, exit: null };
const ended = (exit: string) => ({ state: 'ended', reason: null, exit });
const queued = { job: jobs.suspended, queue: 'q', suspend: true };

test.each<[description: string, state: ClusterState, sighting: object]>([
  ['has no pod yet', {}, waitingWithoutReason],
  ['has no pod because of a quota', { refusal: podQuotaMessage }, waiting('quota', podQuotaMessage)],
  ['has a pod that no node fits', { pod: pods.unschedulable }, waiting('resources', unschedulableMessage)],
  [
    'has a pod without its image',
    { pod: pods.imagePull },
    waiting('other', 'ImagePullBackOff: Back-off pulling image "docker.io/cdrage/helloworldasdf"'),
  ],
  [
    'has a pod without its Secret',
    { pod: pods.secretMissing },
    waiting('other', 'CreateContainerConfigError: secret "my-secret" not found'),
  ],
  ['has a pod that is being created', { pod: pods.creating }, waitingWithoutReason],
  [
    'is suspended without a queue',
    { job: jobs.suspended, suspend: true },
    waiting('held', 'The Job is suspended.'),
  ],
  ['was not seen by Kueue yet', queued, waitingWithoutReason],
  ['waits for quota', { ...queued, workload: workloads.quota }, waiting('quota', quotaMessage)],
  [
    'names a queue that does not exist',
    { ...queued, workload: workloads.inadmissible },
    waiting('other', "LocalQueue user-queue doesn't exist"),
  ],
  [
    'waits for an admission check',
    { ...queued, workload: workloads.admissionPending },
    waiting('other', 'dws-prov: Pending'),
  ],
  ['was evicted by Kueue', { ...queued, workload: workloads.evicted }, ended('preempted')],
  [
    'was evicted by Kueue while its pod still saves',
    { ...queued, workload: workloads.evicted, pod: pods.running },
    { state: 'running', exit: null },
  ],
  [
    'has a running pod',
    { pod: pods.running },
    {
      state: 'running',
      // Its pod occupied the node for a minute before its container started.
      startedAt: Date.parse('2026-04-26T18:36:06Z'),
      endsAt: Date.parse('2026-04-26T18:46:06Z'),
    },
  ],
  [
    'failed while its pod still saves',
    { job: jobs.preemptedJob, pod: pods.running },
    { state: 'running', exit: null },
  ],
  ['is complete', { job: jobs.complete }, ended('completed')],
  ['reached the deadline of the Job', { job: jobs.deadline }, ended('timeout')],
  ['reached the deadline of the pod', { job: jobs.backoffLimit, pod: pods.podDeadline }, ended('timeout')],
  ['was preempted, and its pod is gone', { job: jobs.preemptedJob }, ended('preempted')],
  ['failed', { job: jobs.backoffLimit, pod: pods.failed }, ended('failed')],
  [
    'lost its node',
    { pod: pods.disrupted('DeletionByPodGC', 'PodGC: node no longer exists') },
    ended('node_failed'),
  ],
  ...disruptions.map(([reason, message]): [string, ClusterState, object] => [
    `was disrupted with ${reason}`,
    { job: jobs.backoffLimit, pod: pods.disrupted(reason, message) },
    ended('preempted'),
  ]),
])('reports a launch that %s', (_title, state, sighting) => {
  expect(sightingOf(state)).toMatchObject(sighting);
});

test.each([
  ['rejected', 'error: context "nope" does not exist'],
  ['rejected', 'Error from server (TooManyRequests): too many requests, please try again later'],
  [
    'unknown',
    'The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?',
  ],
  ['unknown', 'Unable to connect to the server: net/http: TLS handshake timeout'],
  [
    'unknown',
    'Error from server (InternalError): failed calling webhook "mjob.kb.io": context deadline exceeded',
  ],
  ['unknown', 'kubectl did not answer in time'],
])('classifies a failure of kubectl as %s: %s', (kind, stderr) => {
  expect(toFailure(stderr)).toMatchObject({ kind, message: stderr });
});

test('removes the log lines of kubectl from the error message', () => {
  const stderr = `E1125 22:54:24.000000   1234 memcache.go:265] "Unhandled Error" err="couldn't get current server API group list"
Error from server (Forbidden): jobs.batch is forbidden`;
  expect(toFailure(stderr)).toMatchObject({
    message: 'Error from server (Forbidden): jobs.batch is forbidden',
  });
});

test("sends the worker a notice when the pod receives SIGTERM, and exits with the worker's exit code", async () => {
  const settings = EngineSettings.parse({ kind: 'kubernetes', image: 'trainer' }) as KubernetesSettings;
  const worker = `trap 'kill $!; exit 3' USR1; trap 'exit 4' TERM; sleep 30 & echo up; while :; do wait; done`;
  const { containers } = jobManifest('f', settings, orderOf(launch), worker).spec.template.spec;
  const [program = '', ...args] = (containers[0]?.command ?? []).map(word =>
    word.replaceAll('$$', () => '$'),
  );
  const pod = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(pod.stdout, 'data');
  pod.kill('SIGTERM');
  expect(await once(pod, 'exit')).toEqual([3, null]);
});
