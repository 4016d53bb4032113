/** Tests how the agent finds missing GPUs and memory errors in the output of nvidia-smi. */
import { describe, expect, test } from 'vitest';
import type { CommandResult } from '../../../../agent/process/run-command.ts';
import { conditionsOf, makeTrouble, missingFromStart } from '../../../../agent/gpu/conditions.ts';
import { choiceOf, probeUtilisation, type GpuReport } from '../../../../agent/gpu/probe.ts';
import { exited, machine, MIXED, probe, probeNvidia, TIMED_OUT } from '../../../support/gpu-machine.ts';

const uuids = [
  'GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77',
  'GPU-67a571b1-79ee-1016-8ea3-c1fff3f1c1d2',
  'GPU-67a5d88f-e34e-62f4-415e-be2cbf2c6178',
] as const;

/** A row of nvidia-smi: index, utilization, memory, temperature, power, uuid, uncorrected errors. `card` selects the uuid. */
const row = (index: number, card = index, errors = '0'): string =>
  `${index}, 97, 61342, 64, 298.31, ${uuids[card] ?? ''}, ${errors}`;

async function conditions(
  output: string | CommandResult,
  { report, wasSilent = false }: { readonly report?: GpuReport; readonly wasSilent?: boolean } = {},
) {
  const startReport = report ?? (await probeNvidia(MIXED));
  const { cards } = await probeUtilisation({ run: machine({ 'nvidia-smi': output }), report: startReport });
  return cards === undefined ? undefined : conditionsOf(startReport.gpus, cards, wasSilent);
}

test.each([
  ['all GPUs without errors', [row(0), row(1), row(2)]],
  ['GPUs that count no errors', [row(0, 0, '[N/A]'), row(1, 1, '[Not Supported]'), row(2, 2, 'N/A')]],
  ['GPUs in another order', [row(2), row(0), row(1)]],
  ['an unknown power figure', [row(0), row(1), row(2).replace('298.31', '[Unknown Error]')]],
  ['more GPUs than at the start', [row(0), row(1), row(2), '3, 0, 0, 30, 60, GPU-aa, 4']],
])('reports no GPU problem for %s', async (_title, rows) => {
  expect(await conditions(rows.join('\n'))).toEqual([]);
});

describe('missing GPUs', () => {
  test('reports a GPU that is no longer listed', async () => {
    expect(await conditions([row(0), row(2)].join('\n'))).toEqual([
      { gpu: 1, kind: 'missing', detail: expect.stringMatching(/no longer listed: reboot/) },
    ]);
  });

  test('reports a GPU that disappeared, and every GPU whose number changed', async () => {
    expect(await conditions([row(0), row(1, 2)].join('\n'))).toEqual([
      { gpu: 1, kind: 'missing', detail: expect.stringMatching(/no longer listed/) },
      { gpu: 2, kind: 'missing', detail: expect.stringMatching(/its index is now 1/) },
    ]);
  });

  test.each([
    ['2, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]'],
    ['2, [GPU requires reset], 0, 30, 60, GPU-67a5d88f-e34e-62f4-415e-be2cbf2c6178, 0'],
    ['2, 0, 0, 30, 60, [Unknown Error], [Unknown Error]'],
    ['2, ERR!, ERR!, ERR!, ERR!, ERR!, ERR!'],
  ])('reports a listed GPU that does not answer: %s', async lost => {
    expect(await conditions([row(0), row(1), lost].join('\n'))).toEqual([
      { gpu: 2, kind: 'missing', detail: expect.stringMatching(/no longer responds/) },
    ]);
  });

  test.each([
    exited(15, 'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system'),
    exited(255, 'Failed to initialize NVML: Driver/library version mismatch'),
    exited(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
    exited(6, 'No devices were found'),
  ])('reports every GPU as missing when nvidia-smi finds no GPU: $stdout', async output => {
    const problems = await conditions(output);
    expect(problems?.map(({ gpu, kind }) => [gpu, kind])).toEqual([
      [0, 'missing'],
      [1, 'missing'],
      [2, 'missing'],
    ]);
    expect(problems?.[0]?.detail).toMatch(/^nvidia-smi says: /);
    expect(problems?.[0]?.detail.length).toBeLessThanOrEqual(200);
  });

  test.each<[string, CommandResult]>([
    ['hangs', TIMED_OUT],
    ['does not exist', { kind: 'missing' }],
    ['prints nothing', exited(0, '')],
  ])('reports every GPU as missing when nvidia-smi %s twice in a row', async (_title, output) => {
    expect(await conditions(output)).toBeNull();
    expect(await conditions(output, { wasSilent: true })).toHaveLength(3);
  });

  test('reports no GPU as missing when nvidia-smi is too old for the query', async () => {
    const output = exited(2, 'Field "ecc.errors.uncorrected.volatile.total" is not a valid field to query.');
    expect(await conditions(output, { wasSilent: true })).toBeNull();
  });
});

test('reports the first uncorrected memory error of a GPU', async () => {
  expect(await conditions([row(0), row(1, 1, '1'), row(2)].join('\n'))).toEqual([
    {
      gpu: 1,
      kind: 'errors',
      detail: expect.stringMatching(/^1 memory errors .*nvidia-smi --gpu-reset -i 1/),
    },
  ]);
});

test('ignores errors of GPUs that the worker does not use', async () => {
  const all = await probeNvidia(MIXED);
  const report = { ...all, gpus: all.gpus.slice(0, 1) };
  expect(await conditions([row(0), row(1, 1, '7')].join('\n'), { report })).toEqual([]);
});

test('identifies a GPU without a UUID by its number', async () => {
  const all = await probeNvidia(MIXED);
  const report = { ...all, gpus: all.gpus.map(gpu => ({ ...gpu, uuid: undefined })) };
  expect(await conditions(['0, 1, 2, 3, 4', '1, 1, 2, 3, 4'].join('\n'), { report })).toMatchObject([
    { gpu: 2, kind: 'missing' },
  ]);
});

describe('missingFromStart', () => {
  const broken = probeNvidia(exited(255, 'Failed to initialize NVML: Driver/library version mismatch'));

  test('reports a GPU as missing when the driver fails, unless the worker is configured without GPUs', async () => {
    const report = await broken;
    for (const choice of ['all', 'some'] as const)
      expect(missingFromStart(report, choice)).toEqual([
        { gpu: 0, kind: 'missing', detail: expect.stringMatching(/version mismatch.*reboot/) },
      ]);
    expect(missingFromStart(report, 'none')).toEqual([]);
  });

  test('reports a lost GPU as missing, unless the worker uses only some GPUs', async () => {
    const lost = '1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]';
    const report = await probeNvidia(MIXED.replace(/^1, .*$/m, lost));
    expect(missingFromStart(report, 'all')).toMatchObject([{ gpu: 1, kind: 'missing' }]);
    expect(missingFromStart(report, 'some')).toEqual([]);
    const lastIsLost = await probeNvidia(MIXED.replace(/^2, .*$/m, lost.replace('1', '2')));
    expect(missingFromStart(lastIsLost, 'all')).toMatchObject([{ gpu: 2 }]);
  });

  test('reports no missing GPU on a machine without GPUs, or when only the memory size is unknown', async () => {
    expect(missingFromStart(await probe({}), 'all')).toEqual([]);
    const old = await probeNvidia(MIXED.replace('81920', '[N/A]'));
    expect(old.problem?.code).toBe('memory_unknown');
    expect(missingFromStart(old, 'all')).toEqual([]);
  });

  test.each([
    [null, {}, 'all'],
    [[0], {}, 'some'],
    [null, { CUDA_VISIBLE_DEVICES: '1' }, 'some'],
    [null, { HIP_VISIBLE_DEVICES: '0,1' }, 'some'],
    [null, { CUDA_VISIBLE_DEVICES: '' }, 'none'],
    [[0], { HIP_VISIBLE_DEVICES: '-1' }, 'none'],
  ])('reads --gpus %j with the environment %j as the choice "%s"', (indices, environment, choice) => {
    expect(choiceOf(indices, environment)).toBe(choice);
  });
});

test('limits the detail of a GPU problem to the 200 characters that the protocol allows', () => {
  expect(makeTrouble(0, 'held', 'x'.repeat(900)).detail).toHaveLength(200);
});
