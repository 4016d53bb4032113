import { z } from 'zod';
import { LaunchId } from '../../../protocol/ids.ts';
import { launchLabel } from './manifests.ts';

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
const Event = z.object({ involvedObject: z.object({ uid: text }), message: text });
type Job = z.output<typeof Job>;
export type Pod = z.output<typeof Pod>;
export type Workload = z.output<typeof Workload>;

/** Output of `kubectl get jobs,pods -o json`. */
export const JobsAndPods = z.object({ items: z.array(z.discriminatedUnion('kind', [Job, Pod])) });
export const Workloads = z.object({ items: z.array(Workload) });
export const Events = z.object({ items: z.array(Event) });

/** The objects of one launch in the cluster. */
export interface LaunchObjects {
  readonly job: Job;
  /** The newest pod; undefined before there is one. */
  readonly pod: Pod | undefined;
  /** Kueue's record of the Job; undefined on a cluster without Kueue. */
  readonly workload?: Workload | undefined;
  /** Message of the last event about a pod that could not be created. */
  readonly refusal?: string | undefined;
}

/** Groups Jobs with their newest pods by launch. Ignores objects without a valid launch label. */
export function groupByLaunch(
  items: z.output<typeof JobsAndPods>['items'],
): ReadonlyMap<LaunchId, LaunchObjects> {
  const pods = Map.groupBy(
    items.filter(item => item.kind === 'Pod'),
    pod => pod.metadata.labels[launchLabel],
  );
  return new Map(
    items.flatMap(item => {
      const launch = LaunchId.safeParse(item.metadata.labels[launchLabel]);
      if (item.kind !== 'Job' || !launch.success) return [];
      const podsOfLaunch = (pods.get(launch.data) ?? []).toSorted((a, b) =>
        a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1,
      );
      return [[launch.data, { job: item, pod: podsOfLaunch[0] }] as const];
    }),
  );
}

/** Returns the condition of this type if it has this status; undefined otherwise. */
export const findCondition = (conditions: z.output<typeof Conditions>, type: string, status = 'True') =>
  conditions?.find(each => each.type === type && each.status === status);
