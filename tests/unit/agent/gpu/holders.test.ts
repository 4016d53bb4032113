/** Tests how the agent finds the owners of the processes on its GPUs. */
import { describe, expect, test } from 'vitest';
import {
  holdingOf,
  ownerOf,
  type OwnRuns,
  type ProcessFacts,
  type ProcessTable,
} from '../../../../agent/gpu/holders.ts';
import { probeProcesses } from '../../../../agent/gpu/processes.ts';
import type { GpuReport } from '../../../../agent/gpu/probe.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { exited, machine, type Outputs, TIMED_OUT } from '../../../support/gpu-machine.ts';

const job = JobId.parse('j_now');
const earlierJob = JobId.parse('j_before');
const noSuspects: ReadonlySet<string> = new Set();

/** The process table. The trainer is process 100, its guard 99. By default, a process has its own session. */
const processes: Readonly<Record<number, Partial<ProcessFacts>>> = {
  99: { parent: 1 },
  100: { parent: 99, name: 'python' },
  101: { parent: 100, group: 100, session: 100 },
  // The parent of 102 has ended, but 102 is still in the trainer's process group.
  102: { parent: 1, group: 100, session: 100 },
  // 103 has left the group and the session, but its parent is still the trainer's child.
  103: { parent: 101 },
  // 104 has lost its parent as well, so only its environment names the job.
  104: { parent: 1, jobId: job },
  200: { parent: 1, name: 'blender' },
  300: { parent: 1, jobId: earlierJob, name: 'python' },
  250: { parent: 1, isContained: true, name: 'python' },
  301: { parent: 1, group: 90, session: 90, name: 'pt_data_worker' },
};
const table: ProcessTable = pid => {
  const facts = processes[pid];
  return facts === undefined
    ? null
    : { parent: 1, group: pid, session: pid, name: 'some', isContained: false, jobId: null, ...facts };
};
const runs: OwnRuns = { live: [{ jobId: job, leader: 100 }], ended: [{ jobId: earlierJob, leader: 90 }] };

describe('owner of a process', () => {
  test.each([100, 101, 102, 103, 104])('attributes process %d to the running job', pid => {
    expect(ownerOf(pid, table, runs)).toEqual({ kind: 'ours' });
  });

  test.each([
    [104, job],
    [300, earlierJob],
    [301, earlierJob],
  ])('recognizes process %d as left over after the end of its job', (pid, jobId) => {
    const ended = { live: [], ended: [...runs.ended, { jobId: job, leader: 100 }] };
    expect(ownerOf(pid, table, ended)).toMatchObject({ kind: 'left_over', jobId });
  });

  test('recognizes a foreign process', () => {
    expect(ownerOf(200, table, runs)).toEqual({ kind: 'foreign', name: 'blender' });
  });

  test('attributes an invisible process to the running job, and to no owner when no job runs', () => {
    expect(ownerOf(4711, table, { ...runs, live: [] })).toEqual({ kind: 'unseen' });
    expect(ownerOf(4711, table, runs)).toEqual({ kind: 'ours' });
  });

  test('attributes a container process to the running job, and treats the process as foreign when no job runs', () => {
    expect(ownerOf(250, table, runs)).toEqual({ kind: 'ours' });
    expect(ownerOf(250, table, { ...runs, live: [] })).toEqual({ kind: 'foreign', name: 'python' });
  });

  test('recognizes a foreign process whose parents form a cycle or are gone', () => {
    const parents: Readonly<Record<number, number>> = { 400: 501, 401: 401 };
    const damagedTable: ProcessTable = pid => {
      const parent = parents[pid];
      if (parent === undefined) return null;
      return { parent, group: pid, session: pid, name: 'odd', isContained: false, jobId: null };
    };
    // Process 401 is its own parent. The parent of 400 has ended.
    expect(ownerOf(401, damagedTable, runs)).toMatchObject({ kind: 'foreign' });
    expect(ownerOf(400, damagedTable, runs)).toMatchObject({ kind: 'foreign' });
  });

  test("attributes a process by the job in its environment when the trainer's pid is unknown", () => {
    const adopted = { live: [{ jobId: job, leader: null }], ended: [] };
    expect(ownerOf(104, table, adopted)).toEqual({ kind: 'ours' });
    expect(ownerOf(200, table, adopted)).toMatchObject({ kind: 'foreign' });
  });
});

describe('held GPUs', () => {
  /** Checks these processes on the GPUs. `suspects` are the processes that the previous check found. */
  const check = (
    suspects: ReadonlySet<string>,
    ...processesOnGpus: readonly (readonly [gpu: number, pid: number, mib: number])[]
  ) =>
    holdingOf(
      processesOnGpus.map(([gpu, pid, memoryMib]) => ({ gpu, pid, memoryMib })),
      pid => ownerOf(pid, table, { live: runs.live, ended: runs.ended }),
      suspects,
    );

  test('reports a foreign process on a GPU only after two checks in a row have found it', () => {
    const first = check(noSuspects, [1, 200, 9216]);
    expect(first).toMatchObject({ troubles: [], needsConfirmation: true });
    const second = check(first.suspects, [1, 200, 9216]);
    expect(second).toMatchObject({
      troubles: [
        { gpu: 1, kind: 'held', detail: expect.stringMatching(/^process 200 \(blender\) uses .*--gpus/) },
      ],
      needsConfirmation: false,
    });
    expect(second.troubles[0]?.ours).toBeUndefined();
    expect(check(second.suspects)).toMatchObject({ troubles: [], needsConfirmation: false });
  });

  test('ignores a process that replaced a suspect or moved to another GPU', () => {
    expect(check(check(noSuspects, [1, 200, 9216]).suspects, [1, 300, 9216]).troubles).toEqual([]);
    expect(check(check(noSuspects, [1, 200, 9216]).suspects, [0, 200, 9216]).troubles).toEqual([]);
  });

  test('ignores processes of the job, and processes with little memory', () => {
    expect(check(noSuspects, [0, 100, 40_000], [1, 200, 255])).toMatchObject({
      troubles: [],
      needsConfirmation: false,
    });
    expect(check(noSuspects, [1, 200, 256]).needsConfirmation).toBe(true);
  });

  test('reports leftover processes of a job, and names the process with the most memory', () => {
    const leftOver = [
      [0, 301, 300],
      [0, 300, 4096],
    ] as const;
    const first = check(noSuspects, ...leftOver);
    expect(check(first.suspects, ...leftOver).troubles).toEqual([
      {
        gpu: 0,
        kind: 'held',
        detail: expect.stringMatching(
          /^process 300 \(python\) and 1 more remains from job j_before .*kill -9 300$/,
        ),
        ours: true,
      },
    ]);
  });

  test('reports a process that is not visible on this machine', () => {
    const owner = () => ({ kind: 'unseen' }) as const;
    const processesOnGpus = [{ gpu: 0, pid: 4711, memoryMib: 900 }];
    const first = holdingOf(processesOnGpus, owner, noSuspects);
    expect(holdingOf(processesOnGpus, owner, first.suspects).troubles).toMatchObject([
      { detail: expect.stringMatching(/outside this container \(pid 4711 there\)/) },
    ]);
  });
});

describe('processes on GPUs', () => {
  const report: GpuReport = makeReport('cuda', [
    { index: 1, name: 'A', uuid: 'GPU-one' },
    { index: 2, name: 'B', uuid: 'GPU-two' },
    { index: 3, name: 'C' },
  ]);
  const probe = (outputs: Outputs, gpuReport: GpuReport = report, calls: string[] = []) =>
    probeProcesses({ run: machine(outputs, calls), report: gpuReport });

  test('lists NVIDIA processes on the chosen GPUs once each', async () => {
    const calls: string[] = [];
    const lines = [
      '4711, GPU-one, 9216',
      '4711, GPU-one, 100',
      '4711, GPU-two, 300',
      '4712, GPU-zero, 300',
      '4713, GPU-two, [N/A]',
      '[Insufficient Permissions], GPU-two, 300',
      'No running processes found',
      '',
    ];
    expect(await probe({ 'nvidia-smi': lines.join('\n') }, report, calls)).toEqual({
      processes: [
        { gpu: 1, pid: 4711, memoryMib: 9316 },
        { gpu: 2, pid: 4711, memoryMib: 300 },
        { gpu: 2, pid: 4713, memoryMib: 0 },
      ],
    });
    expect(calls).toEqual([
      'nvidia-smi --query-compute-apps=pid,gpu_uuid,used_memory --format=csv,noheader,nounits',
    ]);
  });

  test.each([TIMED_OUT, exited(9, 'no driver'), { kind: 'missing' } as const])(
    'returns no list of processes when nvidia-smi fails: %j',
    async output => {
      expect(await probe({ 'nvidia-smi': output })).toBeNull();
    },
  );

  const card = { 'VRAM Total Memory (B)': '21458059264' };
  const amd = makeReport('rocm', [{ index: 0, name: 'RX' }]);
  const system = {
    PID4711: 'python3, 1, 9663676416, 0, 0',
    PID4712: 'rocm smi, 0, 0, 0, 0',
    'Driver version': '6.8',
  };

  test('lists AMD processes only for a worker that uses all GPUs', async () => {
    expect(await probe({ 'rocm-smi': JSON.stringify({ card0: card, system }) }, amd)).toMatchObject({
      processes: [{ gpu: 0, pid: 4711, memoryMib: 9216 }],
      cards: { kind: 'listed', cards: [{ index: 0 }] },
    });
    expect(
      await probe({ 'rocm-smi': JSON.stringify({ card0: card, card1: card, system }) }, amd),
    ).toMatchObject({ processes: [] });
    expect(await probe({ 'rocm-smi': 'WARNING: no driver' }, amd)).toEqual({ processes: [] });
  });

  test('lists no processes and runs no tool on a machine without GPUs', async () => {
    const calls: string[] = [];
    expect(await probe({}, makeReport('cpu', []), calls)).toEqual({ processes: [] });
    expect(calls).toEqual([]);
  });
});
