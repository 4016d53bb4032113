/** GPUs that are missing or have memory errors, by the output of nvidia-smi. */
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

/** index, utilization, memory, temperature, power, uuid, uncorrected errors */
const row = (index: number, card = index, errors = '0'): string =>
  `${index}, 97, 61342, 64, 298.31, ${uuids[card] ?? ''}, ${errors}`;

async function conditions(
  output: string | CommandResult,
  { report, wasSilent = false }: { readonly report?: GpuReport; readonly wasSilent?: boolean } = {},
) {
  const chosen = report ?? (await probeNvidia(MIXED));
  const { cards } = await probeUtilisation({ run: machine({ 'nvidia-smi': output }), report: chosen });
  return cards === undefined ? undefined : conditionsOf(chosen.gpus, cards, wasSilent);
}

test.each([
  ['all there, without errors', [row(0), row(1), row(2)]],
  ['no counting of errors', [row(0, 0, '[N/A]'), row(1, 1, '[Not Supported]'), row(2, 2, 'N/A')]],
  ['an order of its own', [row(2), row(0), row(1)]],
  [
    'a power figure that a laptop has no sensor for',
    [row(0), row(1), row(2).replace('298.31', '[Unknown Error]')],
  ],
  ['more GPUs than were there', [row(0), row(1), row(2), '3, 0, 0, 30, 60, GPU-aa, 4']],
])('%s: nothing is wrong', async (_what, rows) => {
  expect(await conditions(rows.join('\n'))).toEqual([]);
});

describe('missing', () => {
  test('is one that is listed no more', async () => {
    expect(await conditions([row(0), row(2)].join('\n'))).toEqual([
      { gpu: 1, kind: 'missing', detail: expect.stringMatching(/not listed any more: reboot/) },
    ]);
  });

  test('is one that has fallen off the bus, and so is each behind it: their numbers are others now', async () => {
    expect(await conditions([row(0), row(1, 2)].join('\n'))).toEqual([
      { gpu: 1, kind: 'missing', detail: expect.stringMatching(/not listed/) },
      { gpu: 2, kind: 'missing', detail: expect.stringMatching(/it is number 1 now/) },
    ]);
  });

  test.each([
    ['2, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]'],
    ['2, [GPU requires reset], 0, 30, 60, GPU-67a5d88f-e34e-62f4-415e-be2cbf2c6178, 0'],
    ['2, 0, 0, 30, 60, [Unknown Error], [Unknown Error]'],
    ['2, ERR!, ERR!, ERR!, ERR!, ERR!, ERR!'],
  ])('is one that is listed and does not answer: %s', async lost => {
    expect(await conditions([row(0), row(1), lost].join('\n'))).toEqual([
      { gpu: 2, kind: 'missing', detail: expect.stringMatching(/does not answer any more/) },
    ]);
  });

  test.each([
    exited(15, 'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system'),
    exited(255, 'Failed to initialize NVML: Driver/library version mismatch'),
    exited(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
    exited(6, 'No devices were found'),
  ])('are all when the tool says that none can be used: $stdout', async output => {
    const found = await conditions(output);
    expect(found?.map(({ gpu, kind }) => [gpu, kind])).toEqual([
      [0, 'missing'],
      [1, 'missing'],
      [2, 'missing'],
    ]);
    expect(found?.[0]?.detail).toMatch(/^nvidia-smi says: /);
    expect(found?.[0]?.detail.length).toBeLessThanOrEqual(200);
  });

  test.each<[string, CommandResult]>([
    ['hangs', TIMED_OUT],
    ['is gone', { kind: 'missing' }],
    ['prints nothing', exited(0, '')],
  ])('are all when the tool %s twice in a row, and not at once', async (_what, output) => {
    expect(await conditions(output)).toBeNull();
    expect(await conditions(output, { wasSilent: true })).toHaveLength(3);
  });

  test('are none when the tool is too old for the question', async () => {
    const output = exited(2, 'Field "ecc.errors.uncorrected.volatile.total" is not a valid field to query.');
    expect(await conditions(output, { wasSilent: true })).toBeNull();
  });
});

test('errors are there from the first one that could not be corrected', async () => {
  expect(await conditions([row(0), row(1, 1, '1'), row(2)].join('\n'))).toEqual([
    {
      gpu: 1,
      kind: 'errors',
      detail: expect.stringMatching(/^1 memory errors .*nvidia-smi --gpu-reset -i 1/),
    },
  ]);
});

test('what other GPUs have is nothing to this worker', async () => {
  const all = await probeNvidia(MIXED);
  const report = { ...all, gpus: all.gpus.slice(0, 1) };
  expect(await conditions([row(0), row(1, 1, '7')].join('\n'), { report })).toEqual([]);
});

test('a GPU without a UUID is known by its number', async () => {
  const all = await probeNvidia(MIXED);
  const report = { ...all, gpus: all.gpus.map(gpu => ({ ...gpu, uuid: undefined })) };
  expect(await conditions(['0, 1, 2, 3, 4', '1, 1, 2, 3, 4'].join('\n'), { report })).toMatchObject([
    { gpu: 2, kind: 'missing' },
  ]);
});

describe('from the start', () => {
  const broken = probeNvidia(exited(255, 'Failed to initialize NVML: Driver/library version mismatch'));

  test('a driver that does not work leaves a GPU missing, unless none is wanted', async () => {
    const report = await broken;
    for (const choice of ['all', 'some'] as const)
      expect(missingFromStart(report, choice)).toEqual([
        { gpu: 0, kind: 'missing', detail: expect.stringMatching(/version mismatch.*reboot/) },
      ]);
    expect(missingFromStart(report, 'none')).toEqual([]);
  });

  test('one that is lost is missing, unless others were chosen', async () => {
    const lost = '1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]';
    const report = await probeNvidia(MIXED.replace(/^1, .*$/m, lost));
    expect(missingFromStart(report, 'all')).toMatchObject([{ gpu: 1, kind: 'missing' }]);
    expect(missingFromStart(report, 'some')).toEqual([]);
    const last = await probeNvidia(MIXED.replace(/^2, .*$/m, lost.replace('1', '2')));
    expect(missingFromStart(last, 'all')).toMatchObject([{ gpu: 2 }]);
  });

  test('a machine without GPUs misses none, and other complaints take none away', async () => {
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
  ])('--gpus %j with %j chooses %s', (indices, environment, choice) => {
    expect(choiceOf(indices, environment)).toBe(choice);
  });
});

test('what is said is never longer than the protocol takes', () => {
  expect(makeTrouble(0, 'held', 'x'.repeat(900)).detail).toHaveLength(200);
});
