/**
 * Tests the engine with the real kubectl and a simulated API server, which returns recorded statuses
 * (tests/support/kubernetes-recordings.ts). The texts of the refusals come from these sources:
 *
 * - exceeded quota: eggpi/citationhunt issue 186;
 * - missing permission: the tests of Prefect's Kubernetes worker;
 * - invalid Job and missing namespace: apimachinery (errors.NewInvalid and errors.NewNotFound).
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubernetesEngine } from '../../../main/engines/kubernetes/index.ts';
import { type ProgramOptions, createRunProgram } from '../../../main/engines/run-program.ts';
import { LaunchId } from '../../../protocol/ids.ts';
import { EngineSettings, type KubernetesSettings } from '../../../protocol/pool.ts';
import { joinToken, orderOf, testEngineContract } from '../../support/engine-contract.ts';
import { type KubernetesApi, kubeconfigFor, startKubernetesApi } from '../../support/kubernetes-api.ts';
import {
  jobs,
  podQuotaMessage,
  pods,
  quotaMessage,
  unschedulableMessage,
  workloads,
} from '../../support/kubernetes-recordings.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
let api: KubernetesApi;
beforeAll(async () => {
  api = await startKubernetesApi(folder);
});
afterAll(() => api.stop());

const calls: [readonly string[], ProgramOptions][] = [];
const start = (): string => 'echo "$HOME $(id)"';

const makeSettings = (more: object): KubernetesSettings =>
  EngineSettings.parse({
    kind: 'kubernetes',
    image: 'registry.example/trainer:1',
    ...more,
  }) as KubernetesSettings;

const createEngine = (fleet: string, more: object = {}, kubeconfig = api.kubeconfig) =>
  createKubernetesEngine({
    fleet,
    settings: makeSettings(more),
    start,
    run: (argv, options) => {
      calls.push([argv, options]);
      return createRunProgram({ PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeconfig })(
        argv,
        options,
      );
    },
  });

/** Creates an engine whose API server does not exist: nothing listens on port 1. */
function createUnreachableEngine(fleet: string) {
  const kubeconfig = join(folder, 'nothing');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(1)));
  return createEngine(fleet, {}, kubeconfig);
}

const invalidDetails = {
  name: 'x',
  group: 'batch',
  kind: 'Job',
  causes: [
    {
      reason: 'FieldValueRequired',
      message: 'Required value',
      field: 'spec.template.spec.containers[0].image',
    },
  ],
};

let count = 0;
/** Orders a launch in a new fleet. `sighting` returns the entry of the launch in the engine's list. */
async function launchOne(more: object = {}) {
  const fleet = `f${(count += 1)}`;
  const engine = createEngine(fleet, more);
  const order = orderOf(LaunchId.parse(`a${count}`), { gpus: 2 });
  const answer = await engine.launch(order);
  const name = `trainyard-${fleet}-${order.launchId}`;
  return { engine, order, answer, name, sighting: async () => (await engine.list()).get(order.launchId) };
}

describe('engine contract on Kubernetes', () => {
  testEngineContract(() => ({
    engine: fleet => createEngine(fleet),
    shape: { nodes: 1, gpus: 2 },
    unreachable: createUnreachableEngine,
  }));
});

test('passes the join token on stdin only, and stores it in a Secret that belongs to the Job', async () => {
  const { name } = await launchOne();
  const job = api.find('jobs', name);
  expect(api.find('secrets', name)).toMatchObject({
    stringData: { TRAINYARD_JOIN: joinToken },
    metadata: { ownerReferences: [{ kind: 'Job', name, uid: job?.metadata.uid }] },
  });
  expect(JSON.stringify(job)).not.toContain(joinToken);
  expect(JSON.stringify(calls.map(([argv, { env }]) => [argv, env]))).not.toContain(joinToken);
});

test('deletes the Secret of a launch together with its Job', async () => {
  const { engine, order, name } = await launchOne();
  await engine.end([order.launchId], 'now');
  await expect.poll(() => api.find('secrets', name)).toBeUndefined();
});

test('replaces the token of an earlier order when the order is repeated', async () => {
  const { engine, order, name } = await launchOne();
  const answer = await engine.launch({ ...order, joinToken: 'tj_second' });
  expect(answer).toEqual({ kind: 'accepted', engineId: name });
  expect(api.find('secrets', name)).toMatchObject({ stringData: { TRAINYARD_JOIN: 'tj_second' } });
});

test('creates a Job with the resources and the queue of the settings', async () => {
  const { name } = await launchOne({
    queue: 'gpu-queue',
    service_account: 'trainer',
    cpus: 8,
    memory_gb: 64,
    node_selector: { zone: 'b' },
  });
  expect(api.find('jobs', name)).toMatchObject({
    metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'gpu-queue' } },
    spec: {
      suspend: true,
      backoffLimit: 0,
      ttlSecondsAfterFinished: 600,
      template: {
        spec: {
          restartPolicy: 'Never',
          activeDeadlineSeconds: 480,
          terminationGracePeriodSeconds: 120,
          serviceAccountName: 'trainer',
          nodeSelector: { zone: 'b' },
          containers: [
            {
              command: ['/bin/sh', '-c', expect.any(String), 'trainyard', 'echo "$$HOME $$(id)"'],
              resources: {
                limits: { 'nvidia.com/gpu': '2' },
                requests: { cpu: '8', memory: '64G', 'nvidia.com/gpu': '2' },
              },
            },
          ],
        },
      },
    },
  });
});

test('reports each state of a launch, from waiting in a Kueue queue to preempted', async () => {
  const { sighting, name } = await launchOne({ queue: 'gpu-queue' });
  expect(await sighting()).toMatchObject({ state: 'waiting', reason: null });
  api.setStatus(name, { job: { status: jobs.suspended }, workload: workloads.quota });
  expect(await sighting()).toMatchObject({ state: 'waiting', reason: { kind: 'quota', text: quotaMessage } });
  api.setStatus(name, { job: { spec: { suspend: false } }, pod: pods.unschedulable });
  expect(await sighting()).toMatchObject({ reason: { kind: 'resources', text: unschedulableMessage } });
  api.setStatus(name, { pod: pods.running });
  expect(await sighting()).toMatchObject({
    state: 'running',
    engineId: name,
    nodes: ['gpu-node-1'],
    exit: null,
  });
  api.setStatus(name, { job: { status: jobs.preemptedJob } });
  expect(await sighting()).toMatchObject({ state: 'ended', exit: 'preempted' });
});

test('reports why a Job without a pod waits, with the text of its Kubernetes event', async () => {
  const { sighting, name } = await launchOne();
  api.setStatus(name, {});
  expect(await sighting()).toMatchObject({ state: 'waiting', reason: null });
  const { uid } = api.find('jobs', name)!.metadata;
  api.store('events', { metadata: { name: 'e1' }, involvedObject: { uid }, message: podQuotaMessage });
  expect(await sighting()).toMatchObject({ reason: { kind: 'quota', text: podQuotaMessage } });
});

test('deletes a Job that Kueue evicted, so that it does not start again', async () => {
  const { sighting, name } = await launchOne({ queue: 'gpu-queue' });
  api.setStatus(name, { job: { status: jobs.suspended }, workload: workloads.evicted });
  expect(await sighting()).toMatchObject({ state: 'ended', exit: 'preempted' });
  await expect.poll(() => api.find('jobs', name)).toBeUndefined();
});

// `api.refuse` affects the next Job that any test creates, so these tests must not run concurrently with others.
describe('refusals of the Kubernetes API', () => {
  test.each([
    [
      'temporary',
      'QuotaExceeded',
      403,
      'Forbidden',
      'jobs.batch "x" is forbidden: exceeded quota: compute-quota, requested: count/jobs.batch=1, used: count/jobs.batch=10, limited: count/jobs.batch=10',
    ],
    [
      'permanent',
      'Forbidden',
      403,
      'Forbidden',
      'jobs.batch is forbidden: User "system:serviceaccount:a:b" cannot create resource "jobs" in API group "batch" in the namespace "default"',
    ],
    [
      'permanent',
      'Invalid',
      422,
      'Invalid',
      'Job.batch "x" is invalid: spec.template.spec.containers[0].image: Required value',
    ],
    ['permanent', 'NotFound', 404, 'NotFound', 'namespaces "nope" not found'],
    ['temporary', 'Unauthorized', 401, 'Unauthorized', 'Unauthorized'],
  ])('reports a refused Kubernetes Job as %s: %s', async (scope, code, status, reason, message) => {
    const details = reason === 'Invalid' ? invalidDetails : undefined;
    api.refuse('jobs', { code: status, reason, message, ...(details && { details }) });
    const { answer } = await launchOne();
    expect(answer).toMatchObject({ kind: 'rejected', scope, code });
    expect(answer).toHaveProperty(
      'message',
      expect.stringContaining(reason === 'Unauthorized' ? 'logged in' : message.slice(-20)),
    );
  });

  test('reports an order as unknown when the connection breaks, and creates only one Job when repeated', async () => {
    api.refuse('jobs', null);
    const { engine, order, answer, name, sighting } = await launchOne();
    expect(answer.kind).toBe('unknown');
    expect(await sighting()).toMatchObject({ state: 'waiting' });
    expect(await engine.launch(order)).toEqual({ kind: 'accepted', engineId: name });
    expect((await engine.list()).size).toBe(1);
  });

  test('deletes the Job when its Secret is refused, and reports no token', async () => {
    api.refuse('secrets', {
      code: 403,
      reason: 'Forbidden',
      message: `secrets is forbidden: User "u" cannot create resource "secrets" ${joinToken}`,
    });
    const { answer, name } = await launchOne();
    expect(JSON.stringify(answer)).not.toContain(joinToken);
    expect(answer).toMatchObject({ kind: 'rejected', scope: 'permanent', code: 'Forbidden' });
    await expect.poll(() => api.find('jobs', name)).toBeUndefined();
  });

  test('rejects an order for several machines, and an order without kubectl', async () => {
    const order = orderOf(LaunchId.parse('m1'), { nodes: 2 });
    expect(await createEngine('fm').launch(order)).toMatchObject({ kind: 'rejected', scope: 'permanent' });
    const engineWithoutKubectl = createKubernetesEngine({
      fleet: 'fm',
      settings: makeSettings({}),
      start,
      run: createRunProgram({}),
      kubectl: '/nowhere/kubectl',
    });
    expect(await engineWithoutKubectl.launch(orderOf(LaunchId.parse('m2')))).toMatchObject({
      kind: 'rejected',
      scope: 'temporary',
      code: 'kubectl',
    });
    expect(await engineWithoutKubectl.check()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('not found'),
    });
  });
});

describe('check of a Kubernetes pool', () => {
  test('returns the version of Kubernetes and the quotas of the namespace', async () => {
    api.store('resourcequotas', {
      metadata: { name: 'compute-quota' },
      status: { hard: { 'requests.nvidia.com/gpu': '8' }, used: { 'requests.nvidia.com/gpu': '3' } },
    });
    expect(await createEngine('c1').check()).toEqual({
      ok: true,
      version: 'v1.32.4',
      detail: 'Jobs can be created in namespace default',
      queues: [{ name: 'compute-quota', limits: 'requests.nvidia.com/gpu 3 of 8' }],
    });
  });

  test('names the Kubernetes permissions that the account lacks', async () => {
    api.denied.add('create jobs').add('delete pods');
    const check = await createEngine('c2').check();
    api.denied.clear();
    expect(check).toMatchObject({ ok: false, detail: expect.stringContaining('create jobs, delete pods') });
  });

  test('finds the local queue of Kueue, and reports when it is missing or inactive', async () => {
    const active = { type: 'Active', status: 'True', message: 'Can submit new workloads to localQueue' };
    const stopped = {
      type: 'Active',
      status: 'False',
      message: "Can't submit new workloads to clusterQueue",
    };
    for (const [name, condition] of [
      ['gpu-queue', active],
      ['old-queue', stopped],
    ] as const)
      api.store('localqueues', {
        metadata: { name },
        spec: { clusterQueue: 'cluster-queue' },
        status: { pendingWorkloads: 2, admittedWorkloads: 1, conditions: [condition] },
      });
    const limits = 'cluster queue cluster-queue: 2 pending, 1 admitted';
    expect(await createEngine('c3', { queue: 'gpu-queue' }).check()).toMatchObject({
      ok: true,
      queues: [
        { name: 'gpu-queue', limits },
        { name: 'old-queue', limits },
      ],
    });
    const [missing, inactive] = [{ queue: 'none' }, { queue: 'old-queue' }].map(more =>
      createEngine('c4', more).check(),
    );
    expect(await missing).toMatchObject({ ok: false, detail: 'Namespace default has no local queue none' });
    expect(await inactive).toMatchObject({ ok: false, detail: `Queue old-queue: ${stopped.message}` });
  });
});
