/** Tests how the agent reads the metrics files of a trainer, including damaged files. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import { createMetricsFiles, type FileFigures } from '../../../../../agent/metrics/metrics-files/index.ts';
import { maskedCrc32c, readRecord } from '../../../../../agent/metrics/metrics-files/record-file.ts';
import { eventsName, eventWith, frame, scalar } from '../../../../support/event-files.ts';

function createFixture() {
  const root = mkdtempSync(join(tmpdir(), 'metrics-'));
  const logLines: string[] = [];
  const files = createMetricsFiles({ root, log: message => logLines.push(message) });
  const write = (path: string, content: string | Uint8Array): string => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  const stepsOf = (points: FileFigures['live']): readonly number[] => points.map(({ step }) => step);
  return {
    root,
    logLines,
    files,
    write,
    /** Reads the files once, as during a run. Returns the points of growing files as [step, values]. */
    async live() {
      const { live } = await files.read();
      return live.map(({ step, values }) => [step, values] as const);
    },
    /** Like `live`, but returns only the steps. */
    async steps() {
      return stepsOf((await files.read()).live);
    },
    /** Reads the files once. Returns the steps of files that the trainer writes late, such as trainer_state.json. */
    async late() {
      return stepsOf((await files.read()).late);
    },
  };
}

describe('TFRecord', () => {
  it('computes the masked CRC of RFC 3720', () => {
    const crc = 0xe3069283;
    const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
    expect(maskedCrc32c(Buffer.from('123456789'))).toBe(masked);
  });

  it.each([0, 1, 11, 12, 30])('requests more bytes when only %i bytes of a record are available', length => {
    const whole = scalar(1, 'loss', 1);
    expect(readRecord(whole.subarray(0, length), 1_000)).toEqual({
      kind: 'needs_more',
      bytes: length < 12 ? 12 : whole.length,
    });
  });

  it('skips a record with a huge length without allocating memory', () => {
    const header = Buffer.alloc(12);
    header.writeBigUInt64LE(2n ** 50n);
    header.writeUInt32LE(maskedCrc32c(header.subarray(0, 8)), 8);
    expect(readRecord(header, 1_000)).toEqual({ kind: 'too_large', bytes: 2 ** 50 + 16 });
    header.writeBigUInt64LE(2n ** 64n - 1n);
    header.writeUInt32LE(maskedCrc32c(header.subarray(0, 8)), 8);
    expect(readRecord(header, 1_000)).toMatchObject({ kind: 'corrupt' });
  });
});

describe('event files', () => {
  it('reads a growing event file, also with a partial record', async () => {
    const { write, live } = createFixture();
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
    'stops at a record with a wrong checksum %s, and reports file and offset once',
    async (_title, offset) => {
      const { write, steps, logLines } = createFixture();
      const first = scalar(1, 'loss', 1);
      const damaged = scalar(2, 'loss', 1);
      damaged[offset] = (damaged[offset] ?? 0) ^ 0xff;
      const file = write(`runs/a/${eventsName}`, Buffer.concat([first, damaged, scalar(3, 'loss', 1)]));
      expect(await steps()).toEqual([1]);
      appendFileSync(file, scalar(4, 'loss', 1));
      expect(await steps()).toEqual([]);
      expect(logLines).toEqual([
        expect.stringContaining(`runs/a/${eventsName} is corrupt at byte ${first.length}`),
      ]);
    },
  );

  it('skips a record that is too large for a scalar', async () => {
    const { write, steps, logLines } = createFixture();
    const large = eventWith(2, 'picture', value => value.writeBytesField(8, new Uint8Array(3 * 1024 * 1024)));
    const file = write(eventsName, Buffer.concat([scalar(1, 'loss', 1), large.subarray(0, 100)]));
    expect(await steps()).toEqual([1]);
    appendFileSync(file, Buffer.concat([large.subarray(100), scalar(3, 'loss', 1)]));
    expect([...(await steps()), ...(await steps())]).toEqual([3]);
    expect(logLines).toEqual([]);
  });

  it('reads each of many records once, in several reads', async () => {
    const { write, files } = createFixture();
    const count = 40_000;
    write(eventsName, Buffer.concat(Array.from({ length: count }, (_, step) => scalar(step, 'loss', step))));
    const steps: number[] = [];
    let isBehind = true;
    while (isBehind) {
      const figures = await files.read();
      steps.push(...figures.live.map(({ step }) => step));
      isBehind = figures.isBehind;
    }
    expect(steps).toEqual(Array.from({ length: count }, (_, step) => step));
  });

  it('reads scalars from tensors, and NaN as a gap', async () => {
    const { write, live } = createFixture();
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
        frame(Buffer.from('not an event')),
      ]),
    );
    expect(await live()).toEqual([
      [1, { loss: 0.5 }],
      [2, { loss: 0.125 }],
      [4, { loss: null }],
    ]);
  });

  it('skips event files of an earlier attempt, and reads new event files', async () => {
    const { files, write, steps } = createFixture();
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
  ])('converts the tags %j to the metric names of printed lines', async (tags, keys) => {
    const { write, live } = createFixture();
    write(eventsName, Buffer.concat(tags.map(tag => scalar(1, tag, 1))));
    expect(await live()).toEqual([[1, Object.fromEntries(keys.map(key => [key, 1]))]]);
  });

  it('adds the folder of a nested run to the names of its metrics', async () => {
    const { write, live } = createFixture();
    write(`run/${eventsName}`, scalar(1, 'acc', 1));
    write(`run/loss_val/${eventsName}`, scalar(1, 'loss', 2));
    write(`run/other/${eventsName}`, scalar(1, 'acc', 3));
    const merged = Object.assign({}, ...(await live()).map(([, values]) => values));
    expect(merged).toEqual({ acc: 1, 'loss/val': 2, 'other/acc': 3 });
  });
});

describe('metrics.csv', () => {
  const path = 'lightning_logs/version_0/metrics.csv';

  it('reads a growing metrics.csv row by row, without empty cells', async () => {
    const { write, live } = createFixture();
    const file = write(path, 'epoch,step,train_loss,val_loss\n0,49,0.5,\n0,99,0.4,\n0,99,,0.6\n1,149,0.');
    expect(await live()).toEqual([
      [49, { loss: 0.5 }],
      [99, { loss: 0.4, val_loss: 0.6 }],
    ]);
    appendFileSync(file, '25,nan\n');
    expect(await live()).toEqual([[149, { loss: 0.25, val_loss: null }]]);
  });

  it('returns no row twice when metrics.csv is rewritten with another column', async () => {
    const { write, live } = createFixture();
    write(path, 'epoch,step,train_loss\n0,49,0.5\n');
    expect(await live()).toHaveLength(1);
    write(path, 'epoch,step,train_loss,val_loss\n0,49,0.5,\n0,99,,0.6\n');
    expect(await live()).toEqual([[99, { val_loss: 0.6 }]]);
  });

  it('skips values of metrics.csv that an event file has as well', async () => {
    const { write, live } = createFixture();
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
    ['binary content', '\u0000\u0001\n\u0002'],
    ['rows of other widths and invalid figures', 'step,loss\n1\n1,2,3\n-1,5\n1.5,5\nx,5\n7,abc\n"8,9\n'],
  ])('ignores a metrics.csv with %s', async (_title, content) => {
    const { write, live } = createFixture();
    write(path, content);
    expect(await live()).toEqual([]);
  });
});

describe('trainer_state.json', () => {
  const state = (...steps: readonly number[]): string =>
    JSON.stringify({ log_history: steps.map(step => ({ step, epoch: step / 10, loss: 1 / step })) });

  it('reads a complete trainer_state.json, and only the new steps of later trainer_state.json files', async () => {
    const { write, late } = createFixture();
    const whole = state(10, 20);
    write('checkpoint-20/trainer_state.json', whole.slice(0, -10));
    expect(await late()).toEqual([]);
    write('checkpoint-20/trainer_state.json', whole);
    expect(await late()).toEqual([10, 20]);
    write('checkpoint-40/trainer_state.json', state(10, 20, 30, 40));
    expect(await late()).toEqual([30, 40]);
  });

  it('skips the steps of an earlier attempt in a later trainer_state.json', async () => {
    const { files, write, late } = createFixture();
    write('checkpoint-20/trainer_state.json', state(10, 20));
    await files.skipEarlier();
    write('checkpoint-40/trainer_state.json', state(10, 20, 30, 40));
    expect(await late()).toEqual([30, 40]);
  });

  it('reads NaN in trainer_state.json as a gap', async () => {
    const { files, write } = createFixture();
    write('trainer_state.json', '{"log_history": [{"step": 1, "loss": NaN, "note": null}, 7, {"loss": 1}]}');
    expect((await files.read()).late).toMatchObject([{ step: 1, values: { loss: null } }]);
  });
});

describe('output folder', () => {
  it('follows no links in the output folder', async () => {
    const { root, write, live } = createFixture();
    const outside = createFixture();
    outside.write(eventsName, scalar(1, 'secret', 1));
    write(`run/${eventsName}`, scalar(2, 'loss', 1));
    symlinkSync(root, join(root, 'run', 'loop'));
    symlinkSync(outside.root, join(root, 'elsewhere'));
    symlinkSync(join(outside.root, eventsName), join(root, `${eventsName}.link`));
    expect(await live()).toEqual([[2, { loss: 1 }]]);
  });

  it.skipIf(process.platform === 'win32')('ignores a named pipe with the name of an event file', async () => {
    const { root, steps } = createFixture();
    execFileSync('mkfifo', [join(root, eventsName)]);
    expect(await steps()).toEqual([]);
  });

  it('reads no points from a missing output folder or a truncated file', async () => {
    const { write, steps, files } = createFixture();
    expect(await createMetricsFiles({ root: '/nonexistent/output', log: () => {} }).read()).toEqual({
      live: [],
      late: [],
      isBehind: false,
    });
    const file = write(eventsName, scalar(1, 'loss', 1));
    await files.read();
    truncateSync(file, 0);
    expect(await steps()).toEqual([]);
  });
});
