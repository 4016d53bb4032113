import { readFileSync, readdirSync, writeFileSync, chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Engine, LaunchOrder, Sighting } from '../../../main/orchestrator/ports/engines.ts';
import { startScript } from '../../../main/engines/start-script.ts';
import { LaunchId } from '../../../protocol/ids.ts';
import type { SlurmSettings } from '../../../protocol/pool.ts';
import { orderOf, testEngineContract } from '../../support/engine-contract.ts';
import { type SlurmLab, slurmEngine, startSlurmLab, waitForReport } from '../../support/slurm-lab.ts';

let lab: SlurmLab;
beforeAll(async () => {
  lab = await startSlurmLab();
}, 60_000);
afterAll(() => lab.stop(), 60_000);

describe.concurrent('engine contract on Slurm', () => {
  testEngineContract(() => ({
    shape: { nodes: 1, gpus: 0 },
    engine: fleet => slurmEngine(lab, { fleet }),
    unreachable: fleet =>
      slurmEngine(lab, {
        fleet,
        limits: { submitMs: 2_000, listMs: 2_000, endMs: 2_000, checkMs: 2_000 },
        run: (argv, options) =>
          lab.run(argv, { ...options, env: { ...options.env, SLURM_CONF: '/nowhere/slurm.conf' } }),
      }),
  }));
});

/** Orders a launch as the only launch of a new fleet. `id`: the id of the launch, and the name of its worker. */
async function launchOne(id: string, settings: Partial<SlurmSettings>, order: Partial<LaunchOrder> = {}) {
  const engine = slurmEngine(lab, { fleet: `of${id}`, settings });
  const launchId = LaunchId.parse(id);
  const answer = await engine.launch(
    orderOf(launchId, { workerName: id, joinToken: `tj_secret_${id}`, ...order }),
  );
  return { engine, launchId, answer, jobId: answer.kind === 'accepted' ? answer.engineId : '' };
}

const waitForSighting = (
  engine: Engine,
  id: LaunchId,
  isRight: (sighting: Sighting) => boolean,
  timeout = 20_000,
) =>
  vi.waitFor(
    async () => {
      const sighting = (await engine.list()).get(id);
      if (sighting === undefined || !isRight(sighting))
        throw new Error(`the launch has not reached the expected state: ${JSON.stringify(sighting)}`);
      return sighting;
    },
    { timeout, interval: 200 },
  );
const isRunning = ({ state }: Sighting): boolean => state === 'running';
const isEnded = ({ state }: Sighting): boolean => state === 'ended';

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

const commandLines = (): string =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\n');

describe.concurrent('a launch on Slurm', () => {
  it('passes the join token to the worker, and hides the token from other users', async () => {
    const { jobId } = await launchOne('token', {});
    await waitForReport(lab, 'token', 'started');
    expect(lab.worker.lines('token')).toEqual(
      expect.arrayContaining(['token tj_secret_token', 'other none']),
    );
    const publicTexts = [
      lab.calls(),
      commandLines(),
      await lab.slurm('scontrol', 'show', 'job', jobId),
      await lab.slurm('scontrol', 'write', 'batch_script', jobId, '-'),
      await lab.slurm('squeue', '--Format=ALL'),
      ...filesBelow(join(lab.folder, 'log')).map(file => readFileSync(file, 'utf8')),
    ];
    expect(publicTexts.join('\n')).toContain('trainyard-oftoken-token');
    expect(publicTexts.join('\n')).not.toContain('tj_secret_token');
  });

  it('gives a launch the GPUs, CPUs and memory of the settings', async () => {
    const settings = { gpu_type: 'a100', cpus_per_gpu: 3, memory_gb: 4, constraint: 'a100-80gb' };
    const { engine, launchId, jobId } = await launchOne('shape', settings, { gpus: 2, wallTimeS: 61 });
    await waitForReport(lab, 'shape', 'started');
    expect(lab.worker.lines('shape')).toContain('gpus 2');
    const slurmJobText = await lab.slurm('scontrol', 'show', 'job', jobId);
    for (const part of [
      'NumNodes=1',
      'CPUs/Task=6',
      'MinMemoryNode=4G',
      'gres:gpu:a100:2',
      'TimeLimit=00:02:00',
      'Requeue=0',
    ])
      expect(slurmJobText).toContain(part);
    const { startedAt, endsAt, nodes } = await waitForSighting(engine, launchId, isRunning);
    expect(endsAt).toBe((startedAt ?? 0) + 120_000);
    expect(nodes).toEqual([expect.stringMatching(/^rig[12]$/)]);
  });

  it('starts the worker on the first of several nodes', async () => {
    const { engine, launchId, jobId } = await launchOne('wide', {}, { nodes: 2 });
    await waitForReport(lab, 'wide', 'started');
    expect((await waitForSighting(engine, launchId, isRunning)).nodes).toEqual(['rig1', 'rig2']);
    const port = 20_000 + (Number(jobId) % 20_000);
    expect(lab.worker.lines('wide')).toContain(`node 0 of 2, rig1:${port}`);
  });

  it('signals the worker but not its trainer when the launch is asked to end', async () => {
    const launchId = LaunchId.parse('ask');
    const engine = slurmEngine(lab, {
      fleet: 'ofask',
      start: ({ workerName }) =>
        startScript({
          url: 'http://192.0.2.1:8001',
          pin: null,
          installSha256: '',
          settings: {
            setup: `export REPORT='${lab.worker.file('ask')}'`,
            worker_options: '--label a=b',
            worker_program: lab.worker.program,
          },
          workerName,
        }),
    });
    await engine.launch(orderOf(launchId, { workerName: 'gpu-ask', joinToken: 'tj_secret_ask' }));
    await waitForReport(lab, 'ask', 'started');
    const folder =
      lab.worker
        .lines('ask')
        .find(line => line.startsWith('folder '))
        ?.slice(7) ?? '';
    expect(lab.worker.lines('ask')).toEqual(
      expect.arrayContaining([
        'token tj_secret_ask',
        `options --orchestrator-url http://192.0.2.1:8001 --name gpu-ask --persistent --state-dir ${folder}/state --notice-signal USR1 --label a=b`,
      ]),
    );
    await engine.end([launchId], 'ask');
    await waitForReport(lab, 'ask', 'left');
    expect(await waitForSighting(engine, launchId, isEnded)).toMatchObject({ exit: 'completed' });
    expect(lab.worker.lines('ask')).not.toContain('trainer signalled');
    expect(() => readdirSync(folder)).toThrow(/ENOENT/);
  });

  it('cancels the Slurm job when the launch is ended now', async () => {
    const { engine, launchId } = await launchOne('now', {});
    await waitForReport(lab, 'now', 'started');
    await engine.end([launchId], 'now');
    expect(await waitForSighting(engine, launchId, isEnded)).toMatchObject({ exit: 'cancelled' });
  });

  it('signals the worker but not its trainer before the wall time', async () => {
    const { engine, launchId } = await launchOne('wall', {}, { wallTimeS: 60, noticeS: 55 });
    await waitForReport(lab, 'wall', 'left', 40_000);
    expect(await waitForSighting(engine, launchId, isEnded)).toMatchObject({ exit: 'completed' });
    expect(lab.worker.lines('wall')).not.toContain('trainer signalled');
  }, 60_000);

  it('signals the worker but not its trainer at a preemption', async () => {
    const spot = await launchOne('spot', { partition: 'spot' }, { gpus: 2 });
    await waitForReport(lab, 'spot', 'trainer started');
    const urgent = await launchOne('urgent', { partition: 'high' }, { gpus: 2 });
    await waitForReport(lab, 'spot', 'left', 40_000);
    expect(lab.worker.lines('spot')).not.toContain('trainer signalled');
    expect(await waitForSighting(spot.engine, spot.launchId, isEnded)).toMatchObject({ exit: 'completed' });
    await waitForSighting(urgent.engine, urgent.launchId, isRunning, 30_000);
  }, 80_000);

  it('reports a launch as preempted when its worker does not leave', async () => {
    const engine = slurmEngine(lab, {
      fleet: 'stubborn',
      settings: { partition: 'frail' },
      start: () =>
        `trap '' USR1 TERM; echo started >'${lab.worker.file('stubborn')}'; while :; do sleep 1; done`,
    });
    const launchId = LaunchId.parse('stubborn');
    await engine.launch(orderOf(launchId, { gpus: 2 }));
    await waitForReport(lab, 'stubborn', 'started');
    await launchOne('rude', { partition: 'rude' }, { gpus: 2 });
    expect(await waitForSighting(engine, launchId, isEnded, 40_000)).toMatchObject({ exit: 'preempted' });
  }, 80_000);

  it('reports a launch as failed when its worker cannot start', async () => {
    const engine = slurmEngine(lab, { fleet: 'broken', start: () => 'cd /nowhere || exit 7' });
    const order = orderOf(LaunchId.parse('broken'));
    await engine.launch(order);
    expect(await waitForSighting(engine, order.launchId, isEnded)).toMatchObject({ exit: 'failed' });
  });

  it('lists no launch of another fleet whose fleet id starts with the same letters', async () => {
    const [engineOfFleet, engineOfSimilarFleet] = [
      slurmEngine(lab, { fleet: 'alike' }),
      slurmEngine(lab, { fleet: 'alike-two' }),
    ];
    await engineOfFleet.launch(orderOf(LaunchId.parse('first'), { workerName: 'first' }));
    await engineOfSimilarFleet.launch(orderOf(LaunchId.parse('second'), { workerName: 'second' }));
    expect([...(await engineOfFleet.list()).keys()]).toEqual(['first']);
    expect([...(await engineOfSimilarFleet.list()).keys()]).toEqual(['second']);
  });
});

describe.concurrent('an order to Slurm', () => {
  it.each([
    ['more GPUs than a node has', 'g', {}, { gpus: 5 }, 'ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE'],
    [
      'an unknown GPU type',
      't',
      { gpu_type: 'h100' },
      { gpus: 1 },
      'ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE',
    ],
    [
      'more memory than a node has',
      'm',
      { memory_gb: 9_000 },
      {},
      'ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE',
    ],
    ['an unknown partition', 'p', { partition: 'nope' }, {}, 'ESLURM_INVALID_PARTITION_NAME'],
    ['an unknown feature', 'f', { constraint: 'nope' }, {}, 'ESLURM_INVALID_FEATURE'],
  ])('rejects an order permanently for %s', async (_, id, settings, order, code) => {
    const { engine, answer } = await launchOne(`refused${id}`, settings, order);
    expect(answer).toMatchObject({
      kind: 'rejected',
      scope: 'permanent',
      code,
      message: expect.stringMatching(/./),
    });
    expect(await engine.list()).toEqual(new Map());
  });

  it.each([
    ['down', 'down', [], { kind: 'resources', text: 'PartitionDown' }],
    ['limit', 'short', [], { kind: 'quota', text: 'PartitionTimeLimit' }],
    ['held', 'down', ['uhold', 'JOB'], { kind: 'held', text: 'JobHeldUser' }],
    [
      'later',
      'short',
      ['update', 'JobId=JOB', 'TimeLimit=1', 'StartTime=now+1hour'],
      { kind: 'held', text: 'BeginTime' },
    ],
    [
      'after',
      'short',
      ['update', 'JobId=JOB', 'TimeLimit=1', 'Dependency=afterany:OTHER'],
      { kind: 'dependency', text: 'Dependency' },
    ],
  ] as const)(
    'reports why launch "%s" waits on partition "%s" (scontrol arguments %j): %j',
    async (id, partition, change, reason) => {
      const blockingLaunch = await launchOne(`before${id}`, { partition: 'down' });
      const { engine, launchId, jobId } = await launchOne(id, { partition });
      const argv = change.map(word => word.replace('JOB', jobId).replace('OTHER', blockingLaunch.jobId));
      if (argv.length > 0) await lab.slurm('scontrol', ...argv);
      expect(
        await waitForSighting(engine, launchId, sighting => sighting.reason?.text === reason.text),
      ).toMatchObject({
        state: 'waiting',
        reason,
        startedAt: null,
        nodes: [],
        exit: null,
      });
      await engine.end([launchId], 'ask');
      expect(await waitForSighting(engine, launchId, isEnded)).toMatchObject({
        exit: 'cancelled',
        startedAt: null,
      });
    },
  );

  it('reports the expected start of a launch that waits for resources', async () => {
    const first = await launchOne('full', { partition: 'small' }, { gpus: 2, wallTimeS: 3_600 });
    await waitForReport(lab, 'full', 'started');
    const second = await launchOne('queued', { partition: 'small' }, { gpus: 2 });
    const waiting = await waitForSighting(
      second.engine,
      second.launchId,
      ({ expectedStart, reason }) => expectedStart !== null && reason?.text === 'Resources',
    );
    const { endsAt } = await waitForSighting(first.engine, first.launchId, isRunning);
    expect(waiting).toMatchObject({
      reason: { kind: 'resources', text: 'Resources' },
      expectedStart: endsAt,
    });
  });
});

describe('check of a Slurm pool', () => {
  it('returns the version of Slurm, the partitions and their limits', async () => {
    const check = await slurmEngine(lab, { fleet: 'checking' }).check();
    expect(check).toMatchObject({ ok: true, version: expect.stringMatching(/^\d+\.\d+/) });
    expect(check.detail).toMatch(/^Job \d+ to start at 20\d\d-.*Z using/);
    expect(check.queues).toContainEqual({
      name: 'short',
      limits: 'up, time limit 1:00, 2 nodes with gpu:a100:2',
    });
    expect(check.queues).toContainEqual({
      name: 'gpu',
      limits: 'up, time limit infinite, 2 nodes with gpu:a100:2',
    });
  });

  it.each([
    [{ partition: 'nope' }, /invalid partition/i],
    [{ gpu_type: 'h100' }, /Requested node configuration is not available/],
  ])('names the setting that Slurm refuses: %o', async (settings, detail) => {
    const check = await slurmEngine(lab, { fleet: 'checking', settings }).check();
    expect(check).toMatchObject({ ok: false, detail: expect.stringMatching(detail) });
    expect(check.queues).not.toEqual([]);
  });
});

describe('Slurm over ssh', () => {
  /**
   * Creates a fake `ssh`, which logs its arguments and runs the command in a shell with a new environment, as sshd does.
   * Returns the folder of `ssh`.
   */
  function fakeSsh(): string {
    const bin = join(lab.folder, 'ssh-bin');
    mkdirSync(bin);
    const path = `${join(lab.folder, 'bin')}:/usr/local/bin:/usr/bin:/bin`;
    const remote = `PATH='${path}' HOME=/tmp SLURM_CONF='${join(lab.folder, 'slurm.conf')}' SQUEUE_STATES=CANCELLED`;
    writeFileSync(
      join(bin, 'ssh'),
      `#!/bin/sh
printf '%s ' "$@" >>'${lab.folder}/ssh-calls'
while [ "$1" != -- ]; do shift; done
[ "$2" != unknown.host ] || { echo 'ssh: Could not resolve hostname unknown.host: Name or service not known' >&2; exit 255; }
[ "$2" != lost.host ] || { cat >/dev/null; echo 'client_loop: send disconnect: Broken pipe' >&2; exit 255; }
shift 2
exec env -i ${remote} sh -c "$*"
`,
    );
    chmodSync(join(bin, 'ssh'), 0o755);
    return bin;
  }

  it('launches, lists and ends Slurm jobs over ssh, and shows the token in no argument', async () => {
    const bin = fakeSsh();
    const engine = (login: string) =>
      slurmEngine(lab, {
        fleet: 'far',
        settings: { login },
        run: (argv, options) =>
          lab.run(argv, { ...options, env: { ...options.env, PATH: `${bin}:${process.env['PATH']}` } }),
      });
    const [remoteEngine, id] = [engine('me@login.example'), LaunchId.parse('far')];
    const order = orderOf(id, { workerName: 'far', joinToken: 'tj_secret_far' });
    expect(await remoteEngine.check()).toMatchObject({ ok: true });
    expect(await remoteEngine.launch(order)).toMatchObject({ kind: 'accepted' });
    await waitForReport(lab, 'far', 'started');
    expect(lab.worker.lines('far')).toContain('token tj_secret_far');
    expect(await waitForSighting(remoteEngine, id, isRunning)).toMatchObject({
      startedAt: expect.any(Number),
    });
    await remoteEngine.end([id], 'ask');
    await waitForReport(lab, 'far', 'left');
    expect(readFileSync(join(lab.folder, 'ssh-calls'), 'utf8')).toContain('-- me@login.example exec sh -c ');
    expect(readFileSync(join(lab.folder, 'ssh-calls'), 'utf8') + lab.calls()).not.toContain('tj_secret');

    const unknown = engine('unknown.host');
    expect(await unknown.launch(order)).toMatchObject({ kind: 'rejected', scope: 'temporary', code: 'ssh' });
    await expect(unknown.list()).rejects.toThrow(/Could not resolve hostname/);
    expect(await engine('lost.host').launch(order)).toMatchObject({ kind: 'unknown' });
  });
});
