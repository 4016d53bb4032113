import { z } from 'zod';
import { cleanLine } from '../../../protocol/text.ts';
import type { EngineCheck, KubernetesSettings } from '../../../protocol/pool.ts';
import { type Kubectl, errorOf } from './kubectl.ts';
import { accessReviews } from './manifests.ts';

const Versions = z.object({ serverVersion: z.object({ gitVersion: z.string() }) });
const Quantities = z.record(z.string(), z.string()).default({});
const LocalQueues = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ clusterQueue: z.string().default('') }),
      status: z
        .object({
          pendingWorkloads: z.number().default(0),
          admittedWorkloads: z.number().default(0),
          conditions: z
            .array(z.object({ type: z.string(), status: z.string(), message: z.string().default('') }))
            .default([]),
        })
        .prefault({}),
    }),
  ),
});
const ResourceQuotas = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({ hard: Quantities, used: Quantities }).prefault({}),
    }),
  ),
});

const failed = (version: string | null, detail: string): EngineCheck => ({
  ok: false,
  version,
  detail: detail.slice(0, 2_000),
  queues: [],
});

/** Checks the cluster. Never rejects: unreadable output counts as a failed check. */
export const checkCluster = (kubectl: Kubectl, settings: KubernetesSettings): Promise<EngineCheck> =>
  check(kubectl, settings).catch((error: unknown) =>
    failed(null, `kubectl printed something unexpected: ${cleanLine(String(error))}`),
  );

/** Reads the version, checks each permission that the engine needs, and lists the queues or quotas of the namespace. */
async function check(kubectl: Kubectl, settings: KubernetesSettings): Promise<EngineCheck> {
  const { namespace, queue } = settings;
  const answer = await kubectl.run(['version', '--output=json']);
  if (!answer.ok) return failed(null, `The cluster does not answer: ${errorOf(answer.stderr)}`);
  const { serverVersion } = Versions.parse(JSON.parse(answer.stdout));
  const version = serverVersion.gitVersion;

  const attributes = '{.spec.resourceAttributes.verb} {.spec.resourceAttributes.resource}';
  const reviews = await kubectl.run(
    [
      'create',
      '--filename=-',
      '--validate=false',
      `--output=jsonpath={.status.allowed} ${attributes}{"\\n"}`,
    ],
    accessReviews(namespace, queue !== null),
  );
  if (!reviews.ok)
    return failed(version, `The rights of the account are unknown: ${errorOf(reviews.stderr)}`);
  const missing = reviews.stdout
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('true '))
    .map(line => line.replace(/^\S* ?/, ''));
  if (missing.length > 0)
    return failed(version, `In namespace ${namespace}, the account may not: ${missing.join(', ')}`);

  return queue === null ? checkQuotas(kubectl, namespace, version) : checkQueue(kubectl, settings, version);
}

/** Lists the quotas for information. An account that may not list them can still order machines. */
async function checkQuotas(kubectl: Kubectl, namespace: string, version: string): Promise<EngineCheck> {
  const quotas = await kubectl.run(['get', 'resourcequotas', '--output=json']);
  const { items } = quotas.ok ? ResourceQuotas.parse(JSON.parse(quotas.stdout)) : { items: [] };
  const limitsOf = ({ hard, used }: (typeof items)[number]['status']) =>
    Object.entries(hard).map(([resource, limit]) => `${resource} ${used[resource] ?? '0'} of ${limit}`);
  return {
    ok: true,
    version,
    detail: `Jobs can be created in namespace ${namespace}`,
    queues: items.slice(0, 200).map(({ metadata, status }) => ({
      name: metadata.name,
      limits: limitsOf(status).join(', '),
    })),
  };
}

async function checkQueue(
  kubectl: Kubectl,
  { namespace, queue }: KubernetesSettings,
  version: string,
): Promise<EngineCheck> {
  const answer = await kubectl.run(['get', 'localqueues.kueue.x-k8s.io', '--output=json']);
  if (!answer.ok) return failed(version, `The queues of Kueue are unknown: ${errorOf(answer.stderr)}`);
  const { items } = LocalQueues.parse(JSON.parse(answer.stdout));
  const queues = items.slice(0, 200).map(({ metadata, spec, status }) => ({
    name: metadata.name,
    limits: `cluster queue ${spec.clusterQueue}: ${status.pendingWorkloads} pending, ${status.admittedWorkloads} admitted`,
  }));
  const ownQueue = items.find(({ metadata }) => metadata.name === queue);
  if (ownQueue === undefined)
    return { ...failed(version, `Namespace ${namespace} has no local queue ${queue}`), queues };
  const inactive = ownQueue.status.conditions.find(
    ({ type, status }) => type === 'Active' && status === 'False',
  );
  if (inactive !== undefined) return { ...failed(version, `Queue ${queue}: ${inactive.message}`), queues };
  return { ok: true, version, detail: `Jobs can be created in namespace ${namespace}`, queues };
}
