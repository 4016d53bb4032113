import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * A simulated Kubernetes API server for kubectl: discovery, and the Jobs, pods, Secrets and Kueue objects of one namespace. A Job
 * that is not suspended gets its pod when its Secret is created. A deleted pod disappears after 150 ms. Tests set all other
 * states.
 */
export interface KubernetesApi {
  /** Path of a kubeconfig for this server. */
  readonly kubeconfig: string;
  /** Requests so far, such as `POST jobs`. */
  readonly requests: readonly string[];
  find(resource: string, name: string): Stored | undefined;
  store(resource: string, item: Stored): void;
  /** Replaces the status of a Job, its pod and its Workload. Without `pod`, removes the pod of the Job. */
  setStatus(
    job: string,
    scene: { job?: { spec?: object; status?: object }; pod?: object; workload?: object },
  ): void;
  /**
   * Makes the next `POST` of this resource fail with this status. With null, the server executes the request, but breaks the
   * connection.
   */
  refuse(resource: string, status: Refusal | null): void;
  /** Permissions that the account lacks, such as `create jobs`. */
  readonly denied: Set<string>;
  stop(): Promise<void>;
}

interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: object;
}

const Stored = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    ownerReferences: z.array(z.looseObject({ uid: z.string() })).optional(),
  }),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({}).optional(),
});
type Stored = z.output<typeof Stored>;
const Template = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  spec: z.looseObject({}),
});

const kinds: Readonly<Record<string, readonly [group: string, kind: string]>> = {
  jobs: ['batch/v1', 'Job'],
  pods: ['v1', 'Pod'],
  secrets: ['v1', 'Secret'],
  events: ['v1', 'Event'],
  resourcequotas: ['v1', 'ResourceQuota'],
  selfsubjectaccessreviews: ['authorization.k8s.io/v1', 'SelfSubjectAccessReview'],
  workloads: ['kueue.x-k8s.io/v1beta1', 'Workload'],
  localqueues: ['kueue.x-k8s.io/v1beta1', 'LocalQueue'],
};

function discover(path: string): object | undefined {
  if (path === '/version') return { major: '1', minor: '32', gitVersion: 'v1.32.4' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  const versions = [...new Set(Object.values(kinds).map(([group]) => group))];
  if (path === '/apis')
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: versions
        .filter(group => group.includes('/'))
        .map(groupVersion => {
          const [name, version] = groupVersion.split('/');
          return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
        }),
    };
  const version = versions.find(group => path === `/apis/${group}` || path === `/api/${group}`);
  if (version === undefined) return undefined;
  const resources = Object.entries(kinds).flatMap(([name, [group, kind]]) =>
    group === version
      ? [
          {
            name,
            singularName: kind.toLowerCase(),
            namespaced: !name.startsWith('self'),
            kind,
            verbs: ['create', 'delete', 'get', 'list'],
          },
        ]
      : [],
  );
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: version, resources };
}

/** Returns true when labels match a selector such as `a=b,c in (d,e)`. */
function matches(selector: string, labels: Readonly<Record<string, string>> = {}): boolean {
  return [...selector.matchAll(/([\w./-]+)(?:=([\w.-]+)| in \(([^)]*)\))/g)].every(
    ([, key = '', value, list]) =>
      value === undefined ? list?.split(',').includes(labels[key] ?? '') : labels[key] === value,
  );
}

const failure = (refusal: Refusal) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  ...refusal,
});

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

export async function startKubernetesApi(folder: string): Promise<KubernetesApi> {
  const objects = new Map<string, Stored>();
  const requests: string[] = [];
  const refusals = new Map<string, Refusal | null>();
  const denied = new Set<string>();
  let uids = 0;
  const all = (resource: string) =>
    [...objects].flatMap(([key, item]) => (key.startsWith(`${resource}/`) ? [item] : []));
  const owned = (resource: string, uid: string | undefined) =>
    all(resource).filter(item => item.metadata.ownerReferences?.some(owner => owner.uid === uid));

  function store(resource: string, item: Stored): void {
    const [apiVersion, kind] = kinds[resource] ?? ['', ''];
    const uid = item.metadata.uid ?? `uid-${(uids += 1)}`;
    const metadata = {
      namespace: 'default',
      creationTimestamp: new Date().toISOString(),
      ...item.metadata,
      uid,
    };
    objects.set(`${resource}/${item.metadata.name}`, { ...item, apiVersion, kind, metadata });
  }

  /** Adds a pod to a Job, as the Job controller and the kubelet do. */
  function addPod(job: Stored, status: object): void {
    const template = Template.parse(job.spec?.['template']);
    const nodeName = 'phase' in status && status.phase === 'Pending' ? undefined : 'gpu-node-1';
    store('pods', {
      metadata: {
        name: `${job.metadata.name}-x7k2p`,
        labels: template.metadata.labels,
        ownerReferences: [{ uid: job.metadata.uid ?? '' }],
      },
      spec: { ...template.spec, nodeName },
      status: { ...status },
    });
  }
  const running = () => ({
    phase: 'Running',
    startTime: new Date().toISOString(),
    containerStatuses: [{ name: 'worker', state: { running: { startedAt: new Date().toISOString() } } }],
  });

  function applyChange(resource: string, item: Stored): void {
    const job = all('jobs').find(({ metadata }) => metadata.uid === item.metadata.ownerReferences?.[0]?.uid);
    if (resource === 'secrets' && job?.spec?.['suspend'] !== true && job !== undefined)
      addPod(job, running());
  }

  function terminate(pod: Stored, seconds: number): void {
    store('pods', {
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: new Date(Date.now() + seconds * 1_000).toISOString() },
    });
    setTimeout(() => objects.delete(`pods/${pod.metadata.name}`), 150);
  }

  function remove(resource: string, item: Stored, options: { gracePeriodSeconds?: number }): void {
    const key = `${resource}/${item.metadata.name}`;
    if (resource === 'pods') return terminate(item, options.gracePeriodSeconds ?? 30);
    if (resource !== 'jobs') return void objects.delete(key);
    store(resource, { ...item, metadata: { ...item.metadata, deletionTimestamp: new Date().toISOString() } });
    for (const pod of owned('pods', item.metadata.uid)) terminate(pod, 30);
    setTimeout(() => {
      for (const secret of owned('secrets', item.metadata.uid))
        objects.delete(`secrets/${secret.metadata.name}`);
      objects.delete(key);
    }, 200);
  }

  function create(resource: string, body: unknown): [number, object] {
    const refusal = refusals.get(resource);
    if (refusal) {
      refusals.delete(resource);
      return [refusal.code, failure(refusal)];
    }
    if (resource === 'selfsubjectaccessreviews') {
      const review = z
        .looseObject({
          spec: z.looseObject({ resourceAttributes: z.object({ verb: z.string(), resource: z.string() }) }),
        })
        .parse(body);
      const { verb, resource: what } = review.spec.resourceAttributes;
      return [201, { ...review, status: { allowed: !denied.has(`${verb} ${what}`) } }];
    }
    const item = Stored.parse(body);
    const { name } = item.metadata;
    const qualified = resource === 'jobs' ? 'jobs.batch' : resource;
    if (objects.has(`${resource}/${name}`))
      return [
        409,
        failure({ code: 409, reason: 'AlreadyExists', message: `${qualified} "${name}" already exists` }),
      ];
    store(resource, item);
    const stored = objects.get(`${resource}/${name}`);
    if (stored !== undefined) applyChange(resource, stored);
    return [201, stored ?? {}];
  }

  function answer(method: string, url: URL, body: string): [number, object] {
    const known = discover(url.pathname);
    if (known !== undefined) return [200, known];
    const [, resource = '', name] =
      /\/(?:namespaces\/default\/)?([a-z]+)(?:\/([\w.-]+))?$/.exec(url.pathname) ?? [];
    requests.push(`${method} ${resource}`);
    const [apiVersion, kind] = kinds[resource] ?? ['', ''];
    if (method === 'POST') return create(resource, JSON.parse(body));
    if (name === undefined) {
      const selector = url.searchParams.get('labelSelector') ?? '';
      const items = all(resource).filter(({ metadata }) => matches(selector, metadata.labels));
      return [200, { apiVersion, kind: `${kind}List`, metadata: {}, items }];
    }
    const item = objects.get(`${resource}/${name}`);
    if (item === undefined)
      return [404, failure({ code: 404, reason: 'NotFound', message: `${resource} "${name}" not found` })];
    if (method === 'DELETE') remove(resource, item, body === '' ? {} : (JSON.parse(body) as object));
    return [200, item];
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const [code, answerBody] = answer(request.method ?? 'GET', url, await bodyOf(request));
    const resource = url.pathname.split('/').at(-1) ?? '';
    if (request.method === 'POST' && refusals.get(resource) === null) {
      refusals.delete(resource);
      request.socket.destroy();
      return;
    }
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answerBody));
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(await listen(server))));
  return {
    kubeconfig,
    requests,
    denied,
    store,
    find: (resource, name) => objects.get(`${resource}/${name}`),
    refuse: (resource, status) => void refusals.set(resource, status),
    setStatus: (name, scene) => {
      const job = objects.get(`jobs/${name}`);
      if (job === undefined) throw new Error(`no Job ${name}`);
      const { spec, status } = scene.job ?? {};
      store('jobs', { ...job, spec: { ...job.spec, ...spec }, status: { ...(status ?? job.status) } });
      for (const pod of owned('pods', job.metadata.uid)) objects.delete(`pods/${pod.metadata.name}`);
      if (scene.pod) addPod(job, scene.pod);
      if (scene.workload)
        store('workloads', {
          metadata: {
            name: `job-${name}-19797`,
            labels: { 'kueue.x-k8s.io/job-uid': job.metadata.uid ?? '' },
            ownerReferences: [{ uid: job.metadata.uid ?? '' }],
          },
          status: { ...scene.workload },
        });
    },
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server): Promise<number> =>
  new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

export const kubeconfigFor = (port: number) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'lab',
  clusters: [{ name: 'lab', cluster: { server: `http://127.0.0.1:${port}` } }],
  contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
  users: [{ name: 'lab', user: {} }],
});
