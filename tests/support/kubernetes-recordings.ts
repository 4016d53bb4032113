/**
 * Statuses of Kubernetes and Kueue objects, recorded or taken from the source code of these projects. Times are unchanged.
 *
 * - `complete`: `kubectl get job -o yaml` of Kubernetes 1.33, as printed in a public bug report of April 2026.
 * - `deadline`: kubernetes/kubernetes issue 90551, output of `kubectl edit job`.
 * - `backoffLimit`: kubernetes/kubernetes pkg/controller/job/job_controller.go.
 * - `preemptedJob`: kubernetes/kubernetes pkg/controller/job/pod_failure_policy_test.go, TestMatchPodFailurePolicy.
 * - `suspended`: `kubectl get job -o yaml` with Kueue, as printed in a public report of June 2024.
 * - `podDeadline`: kubernetes/kubernetes pkg/kubelet/active_deadline.go.
 * - `unschedulable`: NVIDIA/k8s-device-plugin issue 430, in the shape of k8s.io/api/core/v1 PodCondition.
 * - `imagePull`: containerStatuses from podman-desktop/podman-desktop issue 7521.
 * - `secretMissing`: kubernetes/kubernetes pkg/kubelet/kubelet_pods.go, and Airflow's tests of its Kubernetes executor.
 * - `disrupted`: messages of kubernetes/kubernetes pkg/scheduler/framework/preemption, pkg/registry/core/pod/storage/eviction.go
 *   and pkg/controller/tainteviction; reasons in k8s.io/api/core/v1/types.go.
 * - `quota`, `inadmissible`, `evicted`, `admissionPending`: kubernetes-sigs/kueue
 *   site/content/en/docs/tasks/troubleshooting/troubleshooting_jobs.md.
 */

const jobCondition = (type: string, reason: string, message: string) => ({
  lastProbeTime: '2026-04-26T18:37:06Z',
  lastTransitionTime: '2026-04-26T18:37:06Z',
  message,
  reason,
  status: 'True',
  type,
});

const reached = ['CompletionsReached', 'Reached expected number of succeeded pods'] as const;

export const jobs = {
  complete: {
    completionTime: '2026-04-26T18:37:06Z',
    conditions: [jobCondition('SuccessCriteriaMet', ...reached), jobCondition('Complete', ...reached)],
    ready: 0,
    succeeded: 1,
  },
  deadline: {
    conditions: [
      {
        lastProbeTime: '2020-04-28T09:34:40Z',
        lastTransitionTime: '2020-04-28T09:34:40Z',
        message: 'Job was active longer than specified deadline',
        reason: 'DeadlineExceeded',
        status: 'True',
        type: 'Failed',
      },
    ],
    startTime: '2020-04-28T09:32:38Z',
  },
  backoffLimit: {
    conditions: [
      jobCondition('FailureTarget', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'),
      jobCondition('Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'),
    ],
    failed: 1,
  },
  preemptedJob: {
    conditions: [
      jobCondition(
        'FailureTarget',
        'PodFailurePolicy',
        'Pod default/mypod has condition DisruptionTarget matching FailJob rule at index 0',
      ),
    ],
    failed: 1,
  },
  suspended: {
    conditions: [
      {
        lastProbeTime: '2024-06-10T14:05:14Z',
        lastTransitionTime: '2024-06-10T14:05:14Z',
        message: 'Job suspended',
        reason: 'JobSuspended',
        status: 'True',
        type: 'Suspended',
      },
    ],
    ready: 0,
    uncountedTerminatedPods: {},
  },
} as const;

export const unschedulableMessage =
  '0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod..';

export const disruptions = [
  ['PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod'],
  ['EvictionByEvictionAPI', 'Eviction API: evicting'],
  ['DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint'],
  ['TerminationByKubelet', 'Pod was terminated in response to imminent node shutdown.'],
] as const;

const waiting = (reason: string, message: string) => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'True' }],
  containerStatuses: [
    {
      name: 'worker',
      ready: false,
      restartCount: 0,
      started: false,
      state: { waiting: { message, reason } },
    },
  ],
});

export const pods = {
  unschedulable: {
    phase: 'Pending',
    conditions: [
      {
        lastProbeTime: null,
        lastTransitionTime: '2023-08-04T06:11:02Z',
        message: unschedulableMessage,
        reason: 'Unschedulable',
        status: 'False',
        type: 'PodScheduled',
      },
    ],
    qosClass: 'Burstable',
  },
  imagePull: waiting('ImagePullBackOff', 'Back-off pulling image "docker.io/cdrage/helloworldasdf"'),
  secretMissing: waiting('CreateContainerConfigError', 'secret "my-secret" not found'),
  running: {
    phase: 'Running',
    startTime: '2026-04-26T18:36:06Z',
    containerStatuses: [{ name: 'worker', state: { running: { startedAt: '2026-04-26T18:37:06Z' } } }],
  },
  creating: waiting('ContainerCreating', ''),
  podDeadline: {
    phase: 'Failed',
    reason: 'DeadlineExceeded',
    message: 'Pod was active on the node longer than the specified deadline',
    startTime: '2026-04-26T18:37:06Z',
  },
  failed: {
    phase: 'Failed',
    containerStatuses: [
      {
        name: 'worker',
        state: { terminated: { exitCode: 1, reason: 'Error', startedAt: '2026-04-26T18:37:06Z' } },
      },
    ],
  },
  disrupted: (reason: string, message: string) => ({
    phase: 'Failed',
    conditions: [
      {
        type: 'DisruptionTarget',
        status: 'True',
        reason,
        message,
        lastTransitionTime: '2026-08-23T14:17:35Z',
      },
    ],
  }),
} as const;

const workloadCondition = (type: string, status: string, reason: string, message: string) => ({
  lastTransitionTime: '2024-03-21T15:49:56Z',
  message,
  reason,
  status,
  type,
});

/** Message of a Job's event, from openshift-docs and kubernetes/kubernetes plugin/pkg/admission/resourcequota. */
export const podQuotaMessage =
  'Error creating: pods "restricteddeploy-869775475b-264wg" is forbidden: exceeded quota: mylimits, requested: memory=2G, used: memory=0, limited: memory=1G';

export const quotaMessage =
  "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor in ClusterQueue";

export const workloads = {
  quota: { conditions: [workloadCondition('QuotaReserved', 'False', 'Pending', quotaMessage)] },
  inadmissible: {
    conditions: [
      workloadCondition('QuotaReserved', 'False', 'Inadmissible', "LocalQueue user-queue doesn't exist"),
    ],
  },
  evicted: {
    conditions: [
      workloadCondition(
        'QuotaReserved',
        'False',
        'Pending',
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 9 more needed",
      ),
      workloadCondition(
        'Evicted',
        'True',
        'Preempted',
        'Preempted to accommodate a higher priority Workload',
      ),
      workloadCondition('Admitted', 'False', 'NoReservation', 'The workload has no reservation'),
    ],
  },
  admissionPending: {
    admissionChecks: [
      { lastTransitionTime: '2024-05-03T20:01:59Z', message: '', name: 'dws-prov', state: 'Pending' },
    ],
    conditions: [
      workloadCondition(
        'QuotaReserved',
        'True',
        'QuotaReserved',
        'Quota reserved in ClusterQueue dws-cluster-queue',
      ),
    ],
  },
} as const;
