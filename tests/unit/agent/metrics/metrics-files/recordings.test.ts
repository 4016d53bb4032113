/** Replays recorded outputs of real trainers, and tests that each logged value is on the curve at its step. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeScalars } from '../../../../../agent/metrics/metrics-files/event-file.ts';
import { readRecord } from '../../../../../agent/metrics/metrics-files/record-file.ts';
import type { MetricPoint } from '../../../../../protocol/metrics-api.ts';
import { chunksOf, createReplay, curveOf, outputOf, replay } from '../../../../support/recordings.ts';

type Logged = readonly (readonly [step: number, key: string, value: number])[];

const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'recording-'));

/** Rounds a value as transformers prints it, with `f'{value:.4g}'`. */
const roundAsPrinted = (value: number): number => Number(value.toPrecision(4));

function historyOf(name: string, isWanted: (entry: Readonly<Record<string, number>>) => boolean): Logged {
  const { log_history: history } = JSON.parse(
    readFileSync(join(outputOf(name), 'log_history.json'), 'utf8'),
  ) as { readonly log_history: readonly Readonly<Record<string, number>>[] };
  return history
    .filter(isWanted)
    .flatMap(({ step = 0, ...values }) =>
      Object.entries(values).map(([key, value]) => [step, key, value] as const),
    );
}

const eventFileIn = (folder: string): string => {
  const name = readdirSync(folder, { recursive: true })
    .map(String)
    .find(path => path.includes('tfevents'));
  return join(folder, name ?? 'none');
};

/** Reads the scalars of event files by tag. */
function eventsOf(name: string): Logged {
  const bytes = readFileSync(eventFileIn(outputOf(name)));
  const logged: (readonly [number, string, number])[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const outcome = readRecord(bytes.subarray(offset), bytes.length);
    if (outcome.kind !== 'record') throw new Error(`the fixture is damaged at ${offset}: ${outcome.kind}`);
    const event = decodeScalars(outcome.data);
    for (const [tag, value] of event?.values ?? []) logged.push([event?.step ?? 0, tag, value]);
    offset += outcome.bytes;
  }
  return logged;
}

function expectOnCurve(points: readonly MetricPoint[], logged: Logged): void {
  const missing = logged.filter(([step, key, value]) => {
    const pointValue = curveOf(points, key).get(step);
    return typeof pointValue !== 'number' || roundAsPrinted(pointValue) !== roundAsPrinted(value);
  });
  expect(logged.length).toBeGreaterThan(0);
  expect(missing).toEqual([]);
}

const isStep = (entry: Readonly<Record<string, number>>): boolean => !Object.hasOwn(entry, 'train_runtime');

describe("curve of Hugging Face's Trainer", () => {
  it.each(['hf', 'hf-tensorboard'])('records every printed value at its step: %s', async name => {
    const { points } = await replay(name, null);
    expectOnCurve(points, historyOf(name, isStep));
    const summary = historyOf(name, entry => !isStep(entry)).filter(([, key]) => key !== 'total_flos');
    expectOnCurve(points, summary);
    expect([...curveOf(points, 'loss').keys()]).toEqual(
      Array.from({ length: 12 }, (_, index) => (index + 1) * 10),
    );
  });

  it.each(['hf', 'hf-tensorboard'])(
    'records the same curve when stderr is read before stdout: %s',
    async name => {
      const run = createReplay(null);
      const chunks = chunksOf(name);
      // tqdm redraws its bar after a printed dict. The bar uses another pipe, so it can arrive before the dict.
      // This test therefore swaps each chunk of stdout with the next chunk.
      const swapped = chunks.map((chunk, index) => {
        if (chunk.fd === 1) return chunks[index + 1] ?? chunk;
        const previous = chunks[index - 1];
        return previous?.fd === 1 ? previous : chunk;
      });
      for (const { bytes } of swapped) run.print(bytes);
      expectOnCurve((await run.end()).points, historyOf(name, isStep));
    },
  );

  it('records every value of the event file under the printed names', async () => {
    const { points } = await replay('hf-tensorboard', temporaryFolder());
    expectOnCurve(
      points,
      eventsOf('hf-tensorboard').map(([step, tag, value]) => [step, tag.replace(/^train\//, ''), value]),
    );
    const losses = points.filter(({ values }) => Object.hasOwn(values, 'loss'));
    expect(losses).toHaveLength(12);
    // The curve has more digits than the output, and no rounding errors of 32-bit floats.
    expect(losses[0]?.values).toMatchObject({ loss: 6.945546, learning_rate: 0.000135 });
  });

  it('records the exact values of trainer_state.json without an event file', async () => {
    const { points } = await replay('hf', temporaryFolder());
    const logged = historyOf('hf', isStep);
    expectOnCurve(points, logged);
    for (const [step, key, value] of logged) expect(curveOf(points, key).get(step)).toBe(value);
    expect(points.filter(({ values }) => Object.hasOwn(values, 'loss'))).toHaveLength(12);
  });
});

/** Converts a name that Lightning logs to the key on the curve. */
const curveKey = (key: string): string => (key === 'train_loss' ? 'loss' : key);

describe('curve of Lightning', () => {
  it.each(['lightning-default', 'lightning-tqdm'])(
    'records every value of the event file: %s',
    async name => {
      const { points } = await replay(name, temporaryFolder());
      const logged = eventsOf(name);
      expectOnCurve(
        points,
        logged.map(([step, key, value]) => [step, curveKey(key), value]),
      );
      const losses = logged.filter(([, key]) => key === 'train_loss').map(([step]) => step);
      expect(points.flatMap(({ step, values }) => (Object.hasOwn(values, 'loss') ? [step] : []))).toEqual(
        losses,
      );
    },
  );

  it.each(['lightning-default', 'lightning-tqdm'])(
    'records the last step of a Lightning run from its output: %s',
    async name => {
      const { points, progress } = await replay(name, null);
      expect(progress).toMatchObject({ step: 300, totalSteps: 300, percent: 100, epoch: 2 });
      expect(curveOf(points, 'loss').get(300)).toBe(name === 'lightning-tqdm' ? 0.073 : 0.074);
    },
  );

  it('counts the steps of a Lightning run across epochs from its bars', async () => {
    const run = createReplay(null);
    const steps: number[] = [];
    for (const { bytes } of chunksOf('lightning-tqdm')) {
      run.print(bytes);
      await run.send();
    }
    const { points } = await run.end();
    for (const { step, values } of points) if (Object.hasOwn(values, 'loss')) steps.push(step ?? -1);
    expect(steps).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
  });
});

describe('partial recordings', () => {
  it.each(['hf-tensorboard', 'lightning-tqdm'])(
    'records every value once when the event file grows in pieces: %s',
    async name => {
      const root = temporaryFolder();
      const source = readFileSync(eventFileIn(outputOf(name)));
      const target = join(root, eventFileIn(outputOf(name)).slice(outputOf(name).length));
      mkdirSync(dirname(target), { recursive: true });
      const run = createReplay(root);
      const chunks = chunksOf(name);
      let written = 0;
      // Each chunk of output is followed by an equal share of the event file.
      for (const [index, { bytes }] of chunks.entries()) {
        run.print(bytes);
        const end = Math.floor((source.length * (index + 1)) / chunks.length);
        appendFileSync(target, source.subarray(written, end));
        written = end;
        await run.send();
      }
      const { points } = await run.end();
      const keyOnCurve = (key: string): string =>
        name === 'hf-tensorboard' ? key.replace(/^train\//, '') : curveKey(key);
      expectOnCurve(
        points,
        eventsOf(name).map(([step, key, value]) => [step, keyOnCurve(key), value]),
      );
      const steps = points.flatMap(({ step, values }) => (Object.hasOwn(values, 'loss') ? [step] : []));
      expect(steps).toEqual([...new Set(steps)]);
    },
  );

  it('records every value once when an event file is truncated and then grows again', async () => {
    const root = temporaryFolder();
    cpSync(outputOf('lightning-default'), root, { recursive: true });
    const file = eventFileIn(root);
    const whole = readFileSync(file);
    const run = createReplay(root);
    await run.send();
    truncateSync(file, Math.floor(statSync(file).size / 2));
    await run.send();
    appendFileSync(file, whole.subarray(Math.floor(whole.length / 2)));
    const { points } = await run.end();
    expect(points.flatMap(({ step, values }) => (Object.hasOwn(values, 'loss') ? [step] : []))).toEqual(
      eventsOf('lightning-default').flatMap(([step, key]) => (key === 'train_loss' ? [step] : [])),
    );
  });
});
