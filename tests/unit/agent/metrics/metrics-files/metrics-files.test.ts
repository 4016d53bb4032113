/** How the agent reads the metrics files that a trainer writes, including damaged ones. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import { maskedCrc32c } from '../../../../../agent/metrics/metrics-files/crc32c.ts';
import { createMetricsFiles, type FileFigures } from '../../../../../agent/metrics/metrics-files/index.ts';
import { readRecord } from '../../../../../agent/metrics/metrics-files/records.ts';
import { eventsName, eventWith, frame, scalar } from '../../../../support/event-files.ts';

function createBench() {
  const root = mkdtempSync(join(tmpdir(), 'metrics-'));
  const said: string[] = [];
  const files = createMetricsFiles({ root, say: message => said.push(message) });
  const write = (path: string, content: string | Uint8Array): string => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  const stepsOf = (points: FileFigures['live']): readonly number[] => points.map(({ step }) => step);
  return {
    root,
    said,
    files,
    write,
    /** All that is there, as [step, values]. */
    async live() {
      const { live } = await files.look();
      return live.map(({ step, values }) => [step, values] as const);
    },
    async steps() {
      return stepsOf((await files.look()).live);
    },
    async late() {
      return stepsOf((await files.look()).late);
    },
  };
}

describe('a record', () => {
  it('has the checksum of RFC 3720, masked as TFRecord files have it', () => {
    const crc = 0xe3069283;
    const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
    expect(maskedCrc32c(Buffer.from('123456789'))).toBe(masked);
  });

  it.each([0, 1, 11, 12, 30])('that has %i bytes so far needs more', length => {
    const whole = scalar(1, 'loss', 1);
    expect(readRecord(whole.subarray(0, length), 1_000)).toEqual({
      kind: 'needs_more',
      bytes: length < 12 ? 12 : whole.length,
    });
  });

  it('that claims a huge length is passed over, and allocates nothing', () => {
    const header = Buffer.alloc(12);
    header.writeBigUInt64LE(2n ** 50n);
    header.writeUInt32LE(maskedCrc32c(header.subarray(0, 8)), 8);
    expect(readRecord(header, 1_000)).toEqual({ kind: 'too_large', bytes: 2 ** 50 + 16 });
    header.writeBigUInt64LE(2n ** 64n - 1n);
    header.writeUInt32LE(maskedCrc32c(header.subarray(0, 8)), 8);
    expect(readRecord(header, 1_000)).toMatchObject({ kind: 'corrupt' });
  });
});

describe('an event file', () => {
  it('is read as it grows, also where a look finds a record cut off', async () => {
    const { write, live } = createBench();
    const second = scalar(2, 'train/loss', 0.25);
    const file = write(eventsName, Buffer.concat([scalar(1, 'train/loss', 0.5), second.subarray(0, 20)]));
    expect(await live()).toEqual([[1, { loss: 0.5 }]]);
    expect(await live()).toEqual([]);
    appendFileSync(file, second.subarray(20));
    expect(await live()).toEqual([[2, { loss: 0.25 }]]);
  });

  it.each([
    ['of its data', 30],
    ['of its length', 3],
  ])(
    'with a wrong checksum %s is read up to there, which is said once with file and offset',
    async (_what, at) => {
      const { write, steps, said } = createBench();
      const first = scalar(1, 'loss', 1);
      const damaged = scalar(2, 'loss', 1);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      const file = write(`runs/a/${eventsName}`, Buffer.concat([first, damaged, scalar(3, 'loss', 1)]));
      expect(await steps()).toEqual([1]);
      appendFileSync(file, scalar(4, 'loss', 1));
      expect(await steps()).toEqual([]);
      expect(said).toEqual([
        expect.stringContaining(`runs/a/${eventsName} is corrupt at byte ${first.length}`),
      ]);
    },
  );

  it('with a record too large to be a scalar is read behind it', async () => {
    const { write, steps, said } = createBench();
    const large = eventWith(2, 'picture', value => value.writeBytesField(8, new Uint8Array(3 * 1024 * 1024)));
    const file = write(eventsName, Buffer.concat([scalar(1, 'loss', 1), large.subarray(0, 100)]));
    expect(await steps()).toEqual([1]);
    appendFileSync(file, Buffer.concat([large.subarray(100), scalar(3, 'loss', 1)]));
    expect([...(await steps()), ...(await steps())]).toEqual([3]);
    expect(said).toEqual([]);
  });

  it('of many records is read in portions, none of them twice', async () => {
    const { write, files } = createBench();
    const count = 40_000;
    write(eventsName, Buffer.concat(Array.from({ length: count }, (_, step) => scalar(step, 'loss', step))));
    const steps: number[] = [];
    for (let isBehind = true; isBehind; ) {
      const figures = await files.look();
      steps.push(...figures.live.map(({ step }) => step));
      isBehind = figures.isBehind;
    }
    expect(steps).toEqual(Array.from({ length: count }, (_, step) => step));
  });

  it('may have its scalars as tensors, and what is no number is a gap', async () => {
    const { write, live } = createBench();
    const tensor = (step: number, fill: (pbf: PbfWriter) => void): Buffer =>
      eventWith(step, 'loss', value => value.writeMessage(8, (_, pbf) => fill(pbf), null));
    const content = Buffer.alloc(8);
    content.writeDoubleLE(0.125);
    write(
      eventsName,
      Buffer.concat([
        tensor(1, pbf => pbf.writePackedFloat(5, [0.5])),
        tensor(2, pbf => {
          pbf.writeVarintField(1, 2);
          pbf.writeBytesField(4, content);
        }),
        tensor(3, pbf => pbf.writePackedFloat(5, [1, 2, 3])),
        scalar(4, 'loss', Number.NaN),
        frame(Buffer.from('this is no event')),
      ]),
    );
    expect(await live()).toEqual([
      [1, { loss: 0.5 }],
      [2, { loss: 0.125 }],
      [4, { loss: null }],
    ]);
  });

  it('of an earlier attempt is left out, and a new one beside it is read', async () => {
    const { files, write, steps } = createBench();
    const old = write(`old/${eventsName}`, scalar(1, 'loss', 1));
    await files.skipEarlier();
    write(`new/${eventsName}`, scalar(2, 'loss', 1));
    expect(await steps()).toEqual([2]);
    appendFileSync(old, scalar(3, 'loss', 1));
    expect(await steps()).toEqual([3]);
  });

  it.each([
    [
      ['train/loss', 'train/train_loss', 'train/learning_rate', 'eval/loss'],
      ['loss', 'train_loss', 'learning_rate', 'eval_loss'],
    ],
    [
      ['loss/average', 'loss/current', 'lr/unet'],
      ['loss', 'loss/current', 'lr/unet'],
    ],
    [
      ['train_loss', 'step_loss', 'lr'],
      ['train_loss', 'loss', 'learning_rate'],
    ],
  ])('has the names that printed lines have: %j', async (tags, keys) => {
    const { write, live } = createBench();
    write(eventsName, Buffer.concat(tags.map(tag => scalar(1, tag, 1))));
    expect(await live()).toEqual([[1, Object.fromEntries(keys.map(key => [key, 1]))]]);
  });

  it('in a folder below another run has names of its own', async () => {
    const { write, live } = createBench();
    write(`run/${eventsName}`, scalar(1, 'acc', 1));
    write(`run/loss_val/${eventsName}`, scalar(1, 'loss', 2));
    write(`run/other/${eventsName}`, scalar(1, 'acc', 3));
    const all = Object.assign({}, ...(await live()).map(([, values]) => values));
    expect(all).toEqual({ acc: 1, 'loss/val': 2, 'other/acc': 3 });
  });
});

describe('a metrics.csv', () => {
  const path = 'lightning_logs/version_0/metrics.csv';

  it('is read as it grows, a row a step, empty cells left out', async () => {
    const { write, live } = createBench();
    const file = write(path, 'epoch,step,train_loss,val_loss\n0,49,0.5,\n0,99,0.4,\n0,99,,0.6\n1,149,0.');
    expect(await live()).toEqual([
      [49, { loss: 0.5 }],
      [99, { loss: 0.4, val_loss: 0.6 }],
    ]);
    appendFileSync(file, '25,nan\n');
    expect(await live()).toEqual([[149, { loss: 0.25, val_loss: null }]]);
  });

  it('that is written anew with another column brings no row twice', async () => {
    const { write, live } = createBench();
    write(path, 'epoch,step,train_loss\n0,49,0.5\n');
    expect(await live()).toHaveLength(1);
    write(path, 'epoch,step,train_loss,val_loss\n0,49,0.5,\n0,99,,0.6\n');
    expect(await live()).toEqual([[99, { val_loss: 0.6 }]]);
  });

  it('is left out where an event file has the same figures', async () => {
    const { write, live } = createBench();
    write(`lightning_logs/version_0/${eventsName}`, scalar(49, 'train_loss', 0.5));
    write(path, 'epoch,step,train_loss,acc\n0,49,0.5,1\n');
    expect(await live()).toEqual([
      [49, { loss: 0.5 }],
      [49, { acc: 1 }],
    ]);
  });

  it.each([
    ['no header', '1,2,3\n4,5,6\n'],
    ['another table', 'name,size\na,1\n'],
    ['binary', '\u0000\u0001\n\u0002'],
    ['rows of other widths and odd figures', 'step,loss\n1\n1,2,3\n-1,5\n1.5,5\nx,5\n7,abc\n"8,9\n'],
  ])('that is none is left out: %s', async (_what, content) => {
    const { write, live } = createBench();
    write(path, content);
    expect(await live()).toEqual([]);
  });
});

describe('a trainer_state.json', () => {
  const state = (...steps: readonly number[]): string =>
    JSON.stringify({ log_history: steps.map(step => ({ step, epoch: step / 10, loss: 1 / step })) });

  it('is read when all of it is written, and each checkpoint brings what is new', async () => {
    const { write, late } = createBench();
    const whole = state(10, 20);
    write('checkpoint-20/trainer_state.json', whole.slice(0, -10));
    expect(await late()).toEqual([]);
    write('checkpoint-20/trainer_state.json', whole);
    expect(await late()).toEqual([10, 20]);
    write('checkpoint-40/trainer_state.json', state(10, 20, 30, 40));
    expect(await late()).toEqual([30, 40]);
  });

  it('repeats nothing of an earlier attempt that this one goes on from', async () => {
    const { files, write, late } = createBench();
    write('checkpoint-20/trainer_state.json', state(10, 20));
    await files.skipEarlier();
    write('checkpoint-40/trainer_state.json', state(10, 20, 30, 40));
    expect(await late()).toEqual([30, 40]);
  });

  it('with NaN in it, as Python writes it, has a gap there', async () => {
    const { files, write } = createBench();
    write('trainer_state.json', '{"log_history": [{"step": 1, "loss": NaN, "note": null}, 7, {"loss": 1}]}');
    expect((await files.look()).late).toMatchObject([{ step: 1, values: { loss: null } }]);
  });
});

describe('the output folder', () => {
  it('is searched without its links: no loop, and nothing outside', async () => {
    const { root, write, live } = createBench();
    const outside = createBench();
    outside.write(eventsName, scalar(1, 'secret', 1));
    write(`run/${eventsName}`, scalar(2, 'loss', 1));
    symlinkSync(root, join(root, 'run', 'loop'));
    symlinkSync(outside.root, join(root, 'elsewhere'));
    symlinkSync(join(outside.root, eventsName), join(root, `${eventsName}.link`));
    expect(await live()).toEqual([[2, { loss: 1 }]]);
  });

  it.skipIf(process.platform === 'win32')(
    'may have a pipe by the name of an event file, which nobody waits for',
    async () => {
      const { root, steps } = createBench();
      execFileSync('mkfifo', [join(root, eventsName)]);
      expect(await steps()).toEqual([]);
    },
  );

  it('may not be there, or lose a file between two looks', async () => {
    const { write, steps, files } = createBench();
    expect(await createMetricsFiles({ root: '/nonexistent/output', say: () => {} }).look()).toEqual({
      live: [],
      late: [],
      isBehind: false,
    });
    const file = write(eventsName, scalar(1, 'loss', 1));
    await files.look();
    truncateSync(file, 0);
    expect(await steps()).toEqual([]);
  });
});
