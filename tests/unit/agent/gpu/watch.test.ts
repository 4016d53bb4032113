/** Tests when the agent checks its GPUs, and which problems it reports. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openProcessTable, type ProcessFacts } from '../../../../agent/gpu/holders.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import { createGpuWatch } from '../../../../agent/gpu/watch.ts';
import { openTelemetry } from '../../../../agent/session/telemetry.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { exited, TIMED_OUT } from '../../../support/gpu-machine.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { tempFolder } from '../builders.ts';
import { controlRun } from '../controlled-runs.ts';

const job = JobId.parse('j_1');
const report = makeReport('cuda', [{ index: 0, name: 'A100', uuid: 'GPU-a' }]);
const listeners = { onProgress: () => {}, onFigures: () => {}, onLine: () => {} };
/** A row of nvidia-smi: index, utilization, memory, temperature, power, uuid, uncorrected errors. */
const healthyCard = '0, 97, 61342, 64, 298.31, GPU-a, 0';

/**
 * A machine whose GPUs and processes the test determines. `rig.apps` lists the GPU processes as nvidia-smi prints them: pid,
 * GPU and memory in MiB. Process 4711 is the trainer of `controlRun`.
 */
function openMachine(options: { readonly found?: JobId; readonly hidesProcesses?: boolean } = {}) {
  const clock = createVirtualClock();
  const rig = { cards: exited(0, healthyCard), apps: '', processQueries: 0 };
  const facts = new Map<number, Partial<ProcessFacts>>();
  const logged: string[] = [];
  const table = (pid: number): ProcessFacts | null => {
    const known = facts.get(pid);
    if (known === undefined) return null;
    return { parent: 1, group: pid, session: pid, name: 'python', isContained: false, jobId: null, ...known };
  };
  const deps = {
    run: async (_command: string, [query = '']: readonly string[]) => {
      if (query.startsWith('--query-gpu')) return rig.cards;
      rig.processQueries += 1;
      return exited(0, rig.apps);
    },
    report,
    clock,
    table: options.hidesProcesses === true ? null : table,
    log: (line: string) => void logged.push(line),
    found: options.found ?? null,
  };
  return { clock, rig, facts, logged, deps, watch: createGpuWatch(deps) };
}

test('lists GPU processes at most every 30 s while there is no foreign process', async () => {
  const { clock, rig, watch } = openMachine();
  for (let second = 0; second < 90; second += 10) {
    await watch.checkIfDue();
    await clock.advance(10_000);
  }
  expect(rig.processQueries).toBe(3);
});

test('reports a foreign process when a second check two seconds later finds it again', async () => {
  const { clock, rig, facts, logged, watch } = openMachine();
  facts.set(200, { name: 'blender' });
  rig.apps = '200, GPU-a, 9216';
  await watch.checkIfDue();
  expect(watch.troubles()).toEqual([]);
  const confirmed = watch.confirmSuspects();
  await clock.advance(2_000);
  await confirmed;
  expect(watch.troubles()).toMatchObject([{ gpu: 0, kind: 'held' }]);
  expect(logged).toEqual([expect.stringMatching(/^GPU 0: process 200 \(blender\) uses/)]);
  rig.apps = '';
  await clock.advance(30_000);
  await watch.checkIfDue();
  expect(watch.troubles()).toEqual([]);
  expect(logged.at(-1)).toBe('No other process uses a GPU any more');
});

test('reports held GPUs and memory errors before the worker registers', async () => {
  const { clock, rig, facts, deps } = openMachine();
  facts.set(200, {});
  rig.apps = '200, GPU-a, 9216';
  rig.cards = exited(0, '0, 97, 61342, 64, 298.31, GPU-a, 3');
  const opened = openTelemetry(deps);
  await clock.advance(2_000);
  const { telemetry } = await opened;
  expect(telemetry.latest()).toMatchObject({
    gpu_utilization: 97,
    gpu_troubles: [
      { gpu: 0, kind: 'errors' },
      { gpu: 0, kind: 'held' },
    ],
  });
});

test('reports no held GPU when processes cannot be read', async () => {
  const { rig, watch } = openMachine({ hidesProcesses: true });
  rig.apps = '200, GPU-a, 9216';
  await watch.checkIfDue();
  await watch.checkIfDue();
  expect(watch.troubles()).toEqual([]);
});

test('keeps reporting the problems that were present at the start', async () => {
  const { deps } = openMachine();
  const presentAtStart = [{ gpu: 3, kind: 'missing', detail: 'it is lost' }] as const;
  const { watch } = await openTelemetry({ ...deps, presentAtStart });
  expect(watch.troubles()).toEqual(presentAtStart);
});

describe('end of an attempt', () => {
  test('ends the attempt immediately when no process of the attempt is left on the GPU', async () => {
    const { clock, rig, facts, watch } = openMachine();
    const controlled = controlRun(listeners);
    const run = watch.follow(job, controlled.run);
    facts.set(4711, {});
    rig.apps = '4711, GPU-a, 40000';
    await watch.checkIfDue();
    await watch.checkIfDue();
    expect(watch.troubles()).toEqual([]);
    rig.apps = '';
    controlled.end(0);
    await clock.settle();
    expect(await run.finished).toMatchObject({ code: 0 });
    expect(watch.troubles()).toEqual([]);
  });

  test('delays the end of an attempt until its GPU memory is freed, without reporting a problem', async () => {
    const { clock, rig, facts, watch } = openMachine();
    const controlled = controlRun(listeners);
    const run = watch.follow(job, controlled.run);
    facts.set(4711, {});
    rig.apps = '4711, GPU-a, 40000';
    controlled.end(null, 'SIGKILL');
    await clock.advance(1_000);
    rig.apps = '';
    await clock.advance(1_000);
    expect(await run.finished).toMatchObject({ signal: 'SIGKILL' });
    expect(watch.troubles()).toEqual([]);
  });

  test('reports a problem at the end of an attempt when a child process stays on the GPU', async () => {
    const { clock, rig, facts, watch } = openMachine();
    const controlled = controlRun(listeners);
    const run = watch.follow(job, controlled.run);
    facts.set(4800, { session: 4711, name: 'pt_worker' });
    rig.apps = '4800, GPU-a, 12000';
    controlled.end(0);
    await clock.advance(2_000);
    await run.finished;
    expect(watch.troubles()).toMatchObject([
      { kind: 'held', ours: true, detail: expect.stringContaining('remains from job j_1') },
    ]);
  });

  test('ends the attempt without another query when the driver does not answer', async () => {
    const { rig, watch } = openMachine();
    const controlled = controlRun(listeners);
    const run = watch.follow(job, controlled.run);
    watch.noteCards({ kind: 'silent', message: 'nvidia-smi did not answer within 10 s' });
    controlled.end(0);
    expect(await run.finished).toMatchObject({ code: 0 });
    expect(rig.processQueries).toBe(0);
  });
});

test('attributes processes to the adopted job until that job has ended', async () => {
  const { clock, rig, facts, watch } = openMachine({ found: job });
  facts.set(4711, { jobId: job });
  rig.apps = '4711, GPU-a, 40000';
  await watch.checkIfDue();
  await watch.checkIfDue();
  expect(watch.troubles()).toEqual([]);
  const controlled = controlRun(listeners);
  const run = watch.follow(job, controlled.run);
  controlled.end(0);
  await clock.advance(2_000);
  await run.finished;
  expect(watch.troubles()).toMatchObject([{ ours: true }]);
});

test('reports a hanging driver after its second timeout, until the driver answers again', async () => {
  const { rig, logged, deps } = openMachine();
  const { watch, telemetry } = await openTelemetry(deps);
  rig.cards = TIMED_OUT;
  await telemetry.probe();
  expect(watch.troubles()).toEqual([]);
  await telemetry.probe();
  expect(watch.troubles()).toMatchObject([{ gpu: 0, kind: 'missing' }]);
  rig.cards = exited(0, healthyCard);
  await telemetry.probe();
  expect(watch.troubles()).toEqual([]);
  expect(logged.at(-1)).toBe('All GPUs are available again, without errors');
});

describe('process table', () => {
  const write = (proc: string, pid: number, file: string, text: string): void => {
    mkdirSync(join(proc, String(pid)), { recursive: true });
    writeFileSync(join(proc, String(pid), file), text);
  };

  test('reads session, parent and job of each process from /proc', () => {
    const proc = tempFolder();
    write(proc, 4711, 'stat', `4711 (pt (main) x) S 99 4710 4709 0 ${'0 '.repeat(14)}7777 0`);
    write(proc, 4711, 'comm', 'pt_main\n');
    write(proc, 4711, 'environ', 'HOME=/root\0CONFIG_PATH=/work/j_1/config.json\0X=1\0');
    const table = openProcessTable('linux', '/work', proc);
    expect(table?.(4711)).toEqual({
      parent: 99,
      group: 4710,
      session: 4709,
      name: 'pt_main',
      isContained: false,
      jobId: 'j_1',
    });
    expect(table?.(4712)).toBeNull();
    write(proc, 4711, 'cgroup', '0::/system.slice/docker-4f5e.scope\n');
    expect(table?.(4711)?.isContained).toBe(true);
    const otherWorkDir = openProcessTable('linux', '/other', proc);
    expect(otherWorkDir?.(4711)?.jobId).toBeNull();
  });

  test('returns the name "unknown" for a process with unreadable files, and opens no table on Windows', () => {
    const proc = tempFolder();
    write(proc, 1, 'stat', `1 (init) S 0 1 1 0 ${'0 '.repeat(14)}1 0`);
    expect(openProcessTable('linux', '/work', proc)?.(1)).toMatchObject({ name: 'unknown', jobId: null });
    expect(openProcessTable('win32', '/work', proc)).toBeNull();
  });
});
