import { describe, expect, it } from 'vitest';
import type { Progress } from '../../../../agent/metrics/progress.ts';
import { json, line, progressOf, readAll } from '../../../support/trainer-output.ts';

describe('JSON progress lines', () => {
  it.each<[string, Readonly<Record<string, unknown>>, Partial<Progress>]>([
    [
      'every field',
      {
        step: 450,
        total_steps: 1000,
        epoch: 1.5,
        loss: 0.0123,
        learning_rate: 1e-4,
        steps_per_second: 5.4,
        stage: 'training',
        gpu_mem: 17.2,
      },
      {
        step: 450,
        totalSteps: 1000,
        epoch: 1.5,
        loss: 0.0123,
        learningRate: 1e-4,
        stepsPerSecond: 5.4,
        percent: 45,
        stage: 'training',
        metrics: { gpu_mem: 17.2 },
      },
    ],
    [
      'camel case',
      { step: 1, totalSteps: 4, learningRate: 2, stepsPerSecond: 3 },
      { step: 1, totalSteps: 4, learningRate: 2, stepsPerSecond: 3, percent: 25 },
    ],
    [
      'alternative field names',
      { global_step: 1, max_steps: 3, lr: 0.5, step_loss: 0.25 },
      { step: 1, totalSteps: 3, learningRate: 0.5, loss: 0.25, percent: 33.33 },
    ],
    [
      'figures as text',
      { step: ' 12 ', total_steps: '1e2', loss: '-.5', lr: '+1E-4' },
      { step: 12, totalSteps: 100, loss: -0.5, learningRate: 1e-4, percent: 12 },
    ],
    [
      'texts that are not figures',
      {
        step: '0x10',
        loss: 'NaN',
        lr: 'Infinity',
        epoch: '1_0',
        a: '',
        b: '1.5GB',
        c: '1'.repeat(41),
        d: '.',
        e: 'e5',
        step_loss: '5.',
      },
      { loss: 5 },
    ],
    [
      'other types',
      { step: true, loss: null, lr: [1], epoch: { a: 1 }, stage: 7, total_steps: 8 },
      { totalSteps: 8, gaps: ['loss'] },
    ],
    ['a negative step', { step: -1, loss: 1 }, { loss: 1 }],
    ['a fractional step', { step: 1.5, loss: 1 }, { loss: 1 }],
    ['a step above 1e12', { step: 1e12 + 1, total_steps: 1e300, loss: 1 }, { loss: 1 }],
    ['an epoch and a speed above 1e12', { epoch: 1e12 + 1, steps_per_second: 1e13, loss: 1 }, { loss: 1 }],
    ['the largest step', { step: 1e12 }, { step: 1e12 }],
    ['zero steps in total', { step: 0, total_steps: 0 }, { step: 0 }],
    ['two keys for the step, only the second with a figure', { step: 'x', global_step: 4 }, { step: 4 }],
    [
      'an explicit percentage',
      { step: 1, total_steps: 2, percent: 12.345 },
      { step: 1, totalSteps: 2, percent: 12.35 },
    ],
    ['a percentage above 100', { percent: 1e308 }, { percent: 100 }],
    [
      'negative figures',
      { percent: -1, epoch: -1, steps_per_second: -1, loss: -1, lr: -1 },
      { loss: -1, learningRate: -1 },
    ],
    ['a step beyond the total', { step: 3, total_steps: 2 }, { step: 3, totalSteps: 2, percent: 100 }],
    ['two losses', { loss: 1, avg_loss: 2 }, { loss: 1, metrics: { avg_loss: 2 } }],
    ['a long stage', { stage: ` ${'x'.repeat(63)}🚂` }, { stage: `${'x'.repeat(63)}\ufffd` }],
    ['a blank stage', { stage: ' : ', step: 1 }, { step: 1 }],
    [
      'metrics with strange names',
      { '': 1, ['n'.repeat(64)]: 2, ['n'.repeat(65)]: 3, constructor: 4 },
      { metrics: { ['n'.repeat(64)]: 2, constructor: 4 } },
    ],
  ])('reads a JSON line with %s', (_title, fields, expected) => {
    expect(progressOf(json(fields))).toEqual({ metrics: {}, ...expected });
  });

  it('drops fields with NaN or Infinity, and keeps the other fields', () => {
    const text =
      '{"type": "progress", "step": 7, "loss": NaN, "lr": Infinity, "a": -Infinity, "note": "NaN \\"Infinity", "b": 2}';
    expect(progressOf(text)).toEqual({ step: 7, metrics: { b: 2 }, gaps: ['loss'] });
  });

  it('drops figures beyond the range of numbers', () => {
    expect(progressOf('{"type":"progress","step":1,"loss":1e999,"lr":"1e999","a":-1e999}')).toEqual({
      step: 1,
      metrics: {},
      gaps: ['loss', 'a'],
    });
  });

  it('accepts figures as text with up to 40 characters', () => {
    const figures = json({ a: `0.${'1'.repeat(38)}`, b: `0.${'1'.repeat(39)}` });
    expect(Object.keys(progressOf(figures)?.metrics ?? {})).toEqual(['a']);
  });

  it('reads a line with NaN after a text that ends with an escaped backslash', () => {
    expect(progressOf('{"type":"progress","note":"\\\\","loss":NaN,"step":1}')).toEqual({
      step: 1,
      metrics: {},
      gaps: ['loss'],
    });
  });

  it('reads only the first 32 metrics of a line', () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, i]));
    expect(Object.keys(progressOf(json(fields))?.metrics ?? {})).toEqual(Object.keys(fields).slice(0, 32));
  });

  it('ignores __proto__ as a metric', () => {
    const progress = progressOf('{"type":"progress","step":1,"__proto__":{"loss":9},"a":1}');
    expect(progress).toEqual({ step: 1, metrics: { a: 1 } });
    expect(progressOf('{"type":"progress","step":1,"__proto__":9}')?.metrics).toEqual({});
    expect(Object.getPrototypeOf(progress?.metrics)).toBe(Object.prototype);
  });

  it('reads JSON progress with colors and indentation', () => {
    expect(progressOf(`  \u001b[32m${json({ step: 1 })}\u001b[0m `)).toEqual({ step: 1, metrics: {} });
  });

  it('keeps JSON progress out of the log', () => {
    expect(readAll(`${json({ step: 1 })}\nafter\n`)).toEqual([
      { kind: 'progress', progress: { step: 1, metrics: {} } },
      line('after'),
    ]);
  });

  it.each([
    ['JSON with another type', '{"type":"metric","step":1,"about":"progress"}'],
    ['JSON without a type', '{"step":1,"a":"progress"}'],
    ['JSON without figures', json({ note: 'hello' })],
    ['JSON that is not an object', '["progress"]'],
    ['broken JSON', '{"type":"progress","step":1,}'],
    ['unfinished JSON', '{"type":"progress","step":1'],
    ['deep JSON', `{"type":"progress","a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
    ['unfinished deep JSON', `{"type":"progress","a":${'{"a":'.repeat(10_000)}}`],
    ['JSON after other words', `INFO ${json({ step: 1 })}`],
  ])('treats %s as a log line', (_title, text) => {
    expect(readAll(`${text}\n`)).toEqual([line(text)]);
  });
});

describe('progress bars', () => {
  it.each<[string, Partial<Progress>]>([
    [
      ' 45%|████▌     | 450/1000 [01:23<01:41,  5.42it/s, loss=0.0123, lr=1e-4]',
      {
        etaS: 101,
        step: 450,
        totalSteps: 1000,
        percent: 45,
        stepsPerSecond: 5.42,
        loss: 0.0123,
        learningRate: 1e-4,
      },
    ],
    [
      'Steps:  12%|█▏ | 12/100 [00:10<01:13,  1.20it/s]',
      { etaS: 73, step: 12, totalSteps: 100, percent: 12, stepsPerSecond: 1.2 },
    ],
    [
      'Epoch 11/100, Steps:  20%|█████▉                       | 4680/22900 [6:56:13<39:34:26,  8.00s/it, lr=1.5e-6, step_loss=0.157]',
      {
        etaS: 142466,
        step: 4680,
        totalSteps: 22900,
        percent: 20.44,
        epoch: 11,
        stepsPerSecond: 0.125,
        learningRate: 1.5e-6,
        loss: 0.157,
      },
    ],
    [
      'steps:   5%|██         | 891/17824 [0:30:00<10:00:00,  2.00s/it, avr_loss=0.123]',
      { etaS: 36000, step: 891, totalSteps: 17824, percent: 5, stepsPerSecond: 0.5, loss: 0.123 },
    ],
    ['  0%|          | 0/1000 [00:00<?, ?it/s]', { step: 0, totalSteps: 1000, percent: 0 }],
    [
      '100%|##########| 10/10 [00:01<00:00, 10.00it/s]',
      { etaS: 0, step: 10, totalSteps: 10, percent: 100, stepsPerSecond: 10 },
    ],
    [
      ' 45%|| 450/1000 [01:23<01:41,  5.42it/s]',
      { etaS: 101, step: 450, totalSteps: 1000, percent: 45, stepsPerSecond: 5.42 },
    ],
    [
      '  1%|▏| 1.20k/100k [01:23<01:41, 2.5kit/s, epoch=0.5]',
      { etaS: 101, step: 1200, totalSteps: 100_000, percent: 1.2, stepsPerSecond: 2500, epoch: 0.5 },
    ],
    [
      '  2%|▏| 1.13M/56.5M [01:23<01:41, ?]',
      { etaS: 101, step: 1_130_000, totalSteps: 56_500_000, percent: 2 },
    ],
    [
      '[rank0]: Training:  50%|█| 1/2 [00:01<00:01, 0.00s/it, gpu=17.2, text, bad=x, a=b=c]',
      { etaS: 1, step: 1, totalSteps: 2, percent: 50, metrics: { gpu: 17.2 } },
    ],
    [' 50%|█| 1/2 [00:01<00:01]', { etaS: 1, step: 1, totalSteps: 2, percent: 50 }],
    [' 50%|█| 1/2 [00:01<00:01, fast/s]', { etaS: 1, step: 1, totalSteps: 2, percent: 50 }],
    [
      ' 45%|████▌| 450/1000 [01:23<01:41, 5.42it/s]INFO saved [a/b]',
      { etaS: 101, step: 450, totalSteps: 1000, percent: 45, stepsPerSecond: 5.42 },
    ],
    [' 50%|█| 9T/9T [00:01<00:01, 2Tit/s]', { etaS: 1, percent: 100 }],
    [' 50%|█| 9T/9T [00:01<00:01, 1s/epoch]', { percent: 100 }],
    ['450it [01:23,  5.40it/s, loss=0.5]', { step: 450, stepsPerSecond: 5.4, loss: 0.5 }],
    ['Training: 1.20kit [1:01:23, 2.00s/it]', { step: 1200, stepsPerSecond: 0.5 }],
    ['Steps: 0batch [00:00, ?batch/s]', { step: 0 }],
    [
      '\u001b[1m\u001b]0;title\u0007 50%|█| 1/2 [00:01<00:01, 1.00it/s]\u001b[A',
      { etaS: 1, step: 1, totalSteps: 2, percent: 50, stepsPerSecond: 1 },
    ],
  ])('reads the bar %s', (bar, expected) => {
    expect(progressOf(bar)).toEqual({ metrics: {}, ...expected });
  });

  it.each<[string, Partial<Progress>]>([
    [
      'Epoch 3/10:  45%|████▌| 450/1000 [01:23<01:41,  5.00it/s, loss=0.5]',
      { step: 2450, totalSteps: 10_000, percent: 24.5, epoch: 3, stepsPerSecond: 5, loss: 0.5 },
    ],
    [
      'Epoch [1/2]:  50%|█| 1/2 [00:01<00:01, 1.00it/s]',
      { step: 1, totalSteps: 4, percent: 25, epoch: 1, stepsPerSecond: 1 },
    ],
    [
      'Epoch 10/10:  50%|█|1/2 [00:01<00:01, 1.00it/s]',
      { step: 19, totalSteps: 20, percent: 95, epoch: 10, stepsPerSecond: 1 },
    ],
    [
      'Epoch 0: 100%|████| 994/994 [03:44<00:00,  4.42batch/s, avg_loss=0.34, loss=0.06, v_num=0]',
      {
        step: 994,
        stage: 'Epoch 0',
        percent: 100,
        epoch: 0,
        stepsPerSecond: 4.42,
        loss: 0.06,
        metrics: { avg_loss: 0.34, v_num: 0 },
      },
    ],
    [
      'Epoch 0/10:  50%|█| 1/2 [00:01<00:01, 1.00it/s]',
      { stage: 'Epoch 0', percent: 50, epoch: 0, stepsPerSecond: 1 },
    ],
    [
      'Epoch 11/10:  50%|█| 1/2 [00:01<00:01, 1.00it/s]',
      { stage: 'Epoch 11', percent: 50, epoch: 11, stepsPerSecond: 1 },
    ],
    ['Epoch 3/10: 450it [01:23, 5.00it/s]', { stage: 'Epoch 3', epoch: 3, stepsPerSecond: 5 }],
    [
      'Training:  50%|█████| 1/2 [07:43<07:43, 231.64s/epoch, loss=0.5]',
      { percent: 50, epoch: 1, loss: 0.5 },
    ],
  ])('reads the epoch bar %s', (bar, expected) => {
    expect(progressOf(bar)).toEqual({ metrics: {}, ...expected });
  });

  it.each([
    [
      'Loading checkpoint shards:  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]',
      'Loading checkpoint shards',
      50,
    ],
    [
      'Downloading (…)l-00001.safetensors:  10%|█| 105M/1.00G [00:10<00:12, 45.0MB/s]',
      'Downloading (…)l-00001.safetensors',
      10.5,
    ],
    ['Fetching 17 files:  12%|█▏        | 2/17 [00:01<00:10,  1.44it/s]', 'Fetching 17 files', 11.76],
    ['Caching latents:  45%|████▌| 450/1000 [01:23<01:41, 5.42it/s]', 'Caching latents', 45],
    ['Map (num_proc=4):  45%|████▌| 450/1000 [00:00<00:00, 5000.00 examples/s]', 'Map (num_proc=4)', 45],
    ['Map:  50%|█| 1/2 [00:00<00:00, 1.00it/s]', 'Map', 50],
    ['Validation steps:  50%|█| 1/2 [00:01<00:01, 1.00it/s, loss=9]', 'Validation steps', 50],
    [
      'Generating train split: 1000 examples [00:00, 5000.00 examples/s]',
      'Generating train split',
      undefined,
    ],
    ['model.safetensors:  45%|████▌     | 1.55G/3.44G [00:10<00:12, 150MB/s]', 'model.safetensors', 45.06],
    ['my data:  50%|█| 1/2 [00:01<00:01, 2.00s/ examples]', 'my data', 50],
    [' 50%|█| 512/1024 [00:10<00:12, 100B/s]', 'Transferring', 50],
  ])('reads no steps from a bar that does not count training steps: %s', (bar, stage, percent) => {
    expect(progressOf(bar)).toEqual({ stage, percent, metrics: {} });
  });

  it.each([
    'Training steps with val_loss',
    'Global step',
    'train',
    'my-lora-run',
    'Epoch 1/2, Steps (testset_loss 0.3)',
  ])('counts the bar "%s" as training', description => {
    expect(progressOf(`${description}:  50%|█| 1/2 [00:01<00:01, 1.00it/s]`)?.step).toBe(1);
  });

  it.each([
    'usage: 45%',
    '45%|',
    '45%|██',
    '45%|██| ',
    '45%|██| 450/1000',
    '45%|██| 450/1000 [01:23<01:41, 5.42it/s',
    '45%|██| 450 [01:23<01:41]',
    '45%|██| 1/2/3 [01:23<01:41]',
    '45%|██| a/b [01:23<01:41]',
    '45%|██| 450/0 [01:23<01:41]',
    '45%|██| 450/? [01:23<01:41]',
    '45%|██| 450/1000 [soon]',
    '450it',
    '450it [',
    '450it []',
    '450it [later, 5.4it/s]',
    '450 [01:23, 5.4it/s]',
    '?it [01:23, 5.4it/s]',
    'took 450it [01:23, 5.4it/s]',
    '01:23, 5.4it/s]',
    `${'x'.repeat(2100)} 50%|█| 1/2 [00:01<00:01, 1.00it/s]`,
    'step 5 of 10',
    '{"a": "50%|"}',
  ])('treats %s as a log line', text => {
    expect(readAll(`${text}\n`)).toEqual([line(text)]);
  });

  it('logs a bar only if it is not redrawn', () => {
    const bar = (n: number): string => `${n}0%|█| ${n}/10 [00:01<00:01, 1.00it/s]`;
    const items = readAll(`\r${bar(1)}\r${bar(2)}\n${bar(3)}`);
    expect(items.map(item => (item.kind === 'line' ? item.text : item.progress.step))).toEqual([
      1,
      2,
      bar(2),
      3,
    ]);
  });
});

describe('escape sequences', () => {
  const bar = ' 50%|█| 1/2 [00:01<00:01, 1.00it/s]';

  it.each([
    ['CSI', '\u001b[?25l\u001b[38;5;208m\u001b[2K'],
    ['CSI with every kind of character', '\u001b[ @\u001b[/~\u001b[0@\u001b[?~'],
    ['OSC with BEL', '\u001b]8;;http://x\u0007'],
    ['OSC with ESC \\', '\u001b]0;50%| [\u001b\\'],
    ['two-character sequences', '\u001b7\u001bM'],
    ['a CSI that ends too early', '\u001b[31\u001b[0m'],
  ])('removes escape sequences before it reads a bar: %s', (_title, escape) => {
    expect(progressOf(`${escape}Loading:${bar}`)?.stage).toBe('Loading');
  });

  it('keeps the text after an incomplete CSI', () => {
    expect(progressOf(`\u001b[1█Loading:${bar}`)?.stage).toBe('█Loading');
  });

  it.each(['\u001b', '\u001b[', '\u001b[12;', '\u001b]', '\u001b]never ended'])(
    'reads a bar that ends with the unfinished escape sequence %j',
    escape => {
      expect(progressOf(`Steps:${bar}${escape}`)?.step).toBe(1);
    },
  );
});
