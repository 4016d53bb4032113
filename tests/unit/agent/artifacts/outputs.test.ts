import { describe, expect, it } from 'vitest';
import {
  type OutputResult,
  type Found,
  outputsBeforeAttempt,
  recordScan,
  outputsBeforeStored,
  outputsOf,
  planUploads,
  type UploadScope,
} from '../../../../agent/artifacts/outputs.ts';

const file = (bytes = 1, changedAt = 1): Found => ({ bytes, changedAt });
const outputs = (...keys: readonly string[]) => outputsOf(new Map(keys.map(key => [key, file()])));

describe('outputs', () => {
  it('groups the files of a checkpoint folder into one output, and makes each other file an output', () => {
    const keys = [
      'checkpoint-500/b',
      'checkpoint-000600.bin',
      'checkpoint-500/a/c',
      'model.safetensors',
      'x.png',
    ];
    expect(
      outputs(...keys).map(({ name, kind, step, isFolder, files }) => ({
        name,
        kind,
        step,
        isFolder,
        keys: files.map(([key]) => key),
      })),
    ).toEqual([
      {
        name: 'checkpoint-500',
        kind: 'checkpoint',
        step: 500,
        isFolder: true,
        keys: ['checkpoint-500/a/c', 'checkpoint-500/b'],
      },
      {
        name: 'checkpoint-000600.bin',
        kind: 'checkpoint',
        step: 600,
        isFolder: false,
        keys: ['checkpoint-000600.bin'],
      },
      { name: 'model.safetensors', kind: 'other', step: null, isFolder: false, keys: ['model.safetensors'] },
      { name: 'x.png', kind: 'sample', step: null, isFolder: false, keys: ['x.png'] },
    ]);
  });

  it('treats a step folder with only pictures as samples, not as a checkpoint', () => {
    const all = outputs('samples/step-100/1.png', 'samples/step-100/2.png');
    expect(all.map(({ name, kind, isFolder }) => [name, kind, isFolder])).toEqual([
      ['samples/step-100/1.png', 'sample', false],
      ['samples/step-100/2.png', 'sample', false],
    ]);
  });
});

interface UploadCase {
  readonly files?: Readonly<Record<string, Found>>;
  readonly results?: Readonly<Record<string, Omit<OutputResult, 'mark'> & { readonly mark?: string }>>;
  readonly isOver?: boolean;
  readonly which?: UploadScope;
  /** Time from the scan until the plan, in ms. */
  readonly laterMs?: number;
}

function planned({ files = {}, results = {}, isOver = false, which = 'all', laterMs = 5_000 }: UploadCase) {
  const all = outputsOf(new Map(Object.entries(files)));
  const markOf = (name: string): string => all.find(output => output.name === name)?.mark ?? '';
  const entries = Object.entries(results).map(
    ([name, result]) => [name, { mark: markOf(name), ...result }] as const,
  );
  const unchangedSince = recordScan(new Map(), all, 1_000_000);
  const now = 1_000_000 + laterMs;
  return planUploads({ outputs: all, unchangedSince, results: new Map(entries), now, isOver, which }).map(
    ({ name }) => name,
  );
}

describe('planned uploads', () => {
  const files = {
    'log.txt': file(1, 9),
    'a.png': file(1, 3),
    'b.png': file(1, 4),
    'checkpoint-9.bin': file(),
    'checkpoint-10/x': file(),
  };

  it('plans checkpoints first, then samples, then other files, each from the newest to the oldest', () => {
    const order = ['checkpoint-10', 'checkpoint-9.bin', 'b.png', 'a.png', 'log.txt'];
    expect(planned({ files })).toEqual(order);
    expect(planned({ files, which: 'checkpoints' })).toEqual(order.slice(0, 2));
  });

  it('plans no file that may still be written, unless the run has ended', () => {
    expect(planned({ files, laterMs: 4_999 })).toEqual([]);
    expect(planned({ files, laterMs: 0, isOver: true })).toHaveLength(5);
  });

  it('plans growing event files of TensorBoard, and only event files for a stopped run', () => {
    const events = 'logs/events.out.tfevents.1.vm.2.0';
    const all = { ...files, [events]: file(), 'checkpoint-10/events.out.tfevents.1.vm.2.0': file() };
    expect(planned({ files: all, laterMs: 0 })).toEqual([events]);
    expect(planned({ files: all, which: 'events', isOver: true })).toEqual([events]);
  });

  it.each([
    [100_000_000, 300_000, true],
    [200_000_000, 599_999, false],
    [200_000_000, 600_000, true],
  ])(
    'decides whether to upload a growing file of %i bytes again %i ms after its last upload: %s',
    (bytes, laterMs, isPlanned) => {
      const log = { 'log.txt': file(bytes) };
      const results = { 'log.txt': { at: 1_000_000, result: 'uploaded', mark: 'before' } } as const;
      expect(planned({ files: log, results, laterMs })).toHaveLength(isPlanned ? 1 : 0);
      expect(planned({ files: log, results, isOver: true })).toHaveLength(1);
    },
  );

  it('plans a checkpoint folder once none of its files has changed for a while', () => {
    const scan = (bytes: number) =>
      outputsOf(
        new Map([
          ['checkpoint-1/a', file()],
          ['checkpoint-1/b', file(bytes)],
        ] as const),
      );
    const first = recordScan(new Map(), scan(1), 0);
    const second = recordScan(first, scan(2), 3_000);
    const third = recordScan(second, scan(2), 6_000);
    const plan = (now: number) =>
      planUploads({
        outputs: scan(2),
        unchangedSince: third,
        results: new Map(),
        now,
        isOver: false,
        which: 'all',
      }).length;
    expect([plan(7_999), plan(8_000)]).toEqual([0, 1]);
  });

  /** The time of the scan, and of the last upload. */
  const at = 1_000_000;

  it.each<[string, boolean, UploadCase]>([
    [
      'an output that has not changed since its upload',
      false,
      { results: { 'a.png': { at, result: 'uploaded' } } },
    ],
    [
      'an output that has changed since its upload',
      true,
      { results: { 'a.png': { at, result: 'uploaded', mark: 'before' } } },
    ],
    [
      'an output that the server refused',
      false,
      { results: { 'a.png': { at, result: 'refused' } }, isOver: true },
    ],
    ['an output that the server had no room for', false, { results: { 'a.png': { at, result: 'no_room' } } }],
    [
      'an output that the server had no room for five minutes ago',
      true,
      { results: { 'a.png': { at, result: 'no_room' } }, laterMs: 300_000 },
    ],
    [
      'an output that the server had no room for, after the run',
      false,
      { results: { 'a.png': { at, result: 'no_room' } }, laterMs: 300_000, isOver: true },
    ],
  ])('decides whether to upload %s: %s', (_title, isPlanned, uploadCase) => {
    expect(planned({ files: { 'a.png': file() }, ...uploadCase })).toEqual(isPlanned ? ['a.png'] : []);
  });

  it('plans a growing file again every five minutes, and after the run', () => {
    const uploadCase = {
      files: { 'log.txt': file() },
      results: { 'log.txt': { at, result: 'uploaded', mark: 'shorter' } },
    } as const;
    expect(planned(uploadCase)).toEqual([]);
    expect(planned({ ...uploadCase, laterMs: 300_000 })).toEqual(['log.txt']);
    expect(planned({ ...uploadCase, isOver: true })).toEqual(['log.txt']);
  });
});

it('recognizes checkpoints that are older than the attempt', () => {
  const all = outputsOf(
    new Map([
      ['checkpoint-1/a', file(1, 10)],
      ['checkpoint-1/b', file(1, 20)],
      ['checkpoint-2.bin', file(1, 19)],
      ['a.png', file(1, 1)],
    ] as const),
  );
  expect(outputsBeforeAttempt(all, 20).map(({ name }) => name)).toEqual(['checkpoint-2.bin']);
  expect(outputsBeforeAttempt(all, 21).map(({ name }) => name)).toEqual(['checkpoint-1', 'checkpoint-2.bin']);
});

it('recognizes checkpoints that are older than the newest stored checkpoint', () => {
  const all = outputs('checkpoint-1.bin', 'checkpoint-3/a', 'checkpoint-4.bin', 'a.png', 'epoch-1.bin');
  expect(
    outputsBeforeStored(all, ['b.png', 'checkpoint-3/a', 'checkpoint-2.bin']).map(({ name }) => name),
  ).toEqual(['checkpoint-1.bin']);
  expect(outputsBeforeStored(all, [])).toEqual([]);
});
