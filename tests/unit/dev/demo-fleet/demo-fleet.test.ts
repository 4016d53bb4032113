/** Tests that a demo fleet has plausible workers, trainings and jobs, which depend only on its seed. */
import { describe, expect, test } from 'vitest';
import { disconnectAtRandom } from '../../../../dev/demo-fleet/worker.ts';
import { createDisplay, newTally, statusLine } from '../../../../dev/demo-fleet/display.ts';
import { isOfDemo, planFleet, type WorkerPlan } from '../../../../dev/demo-fleet/hardware.ts';
import { createRandom } from '../../../../dev/demo-fleet/random.ts';
import { sampleJob } from '../../../../dev/demo-fleet/sample-jobs.ts';
import { planTraining, progressAt, telemetryOf, train } from '../../../../dev/demo-fleet/training-plan.ts';
import { SubmitRequest } from '../../../../protocol/queue-api.ts';
import { AnyProgress, type Progress } from '../../../../protocol/reports.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const noNames: ReadonlySet<string> = new Set();
const fleetOf = (workers: number, seed = '1', takenNames = noNames): WorkerPlan[] =>
  planFleet({ workers, ephemeral: 0, flaky: 0 }, createRandom(seed), takenNames);
const machine = fleetOf(1)[0]!.machine;
const rates = { jobSeconds: 60, failRate: 0 };

test('draws uniform random numbers that depend only on the seed and the name of a fork', () => {
  const draw = (seed: string) => Array.from({ length: 1_000 }, createRandom(seed).next);
  expect(draw('a')).toEqual(draw('a'));
  expect(draw('a')).not.toEqual(draw('b'));
  const mean = draw('c').reduce((sum, value) => sum + value, 0) / 1_000;
  expect(mean).toBeGreaterThan(0.45);
  expect(mean).toBeLessThan(0.55);
  // A fork does not depend on the numbers that its parent has already drawn.
  const random = createRandom('x');
  const firstOfFork = random.fork('part').next();
  random.next();
  expect(random.fork('part').next()).toBe(firstOfFork);
});

describe('a demo fleet', () => {
  test('plans a fleet of ten with every kind of machine, and the same fleet for the same seed', () => {
    const fleet = fleetOf(10);
    expect(fleet.map(({ name }) => name)).toEqual([
      ...Array.from({ length: 9 }, (_, index) => `demo-0${index + 1}`),
      'demo-10',
    ]);
    expect(new Set(fleet.map(({ machine: { accelerator } }) => accelerator))).toEqual(
      new Set(['cuda', 'rocm', 'mps']),
    );
    expect(new Set(fleet.map(({ labels }) => labels['gpu_type']))).toEqual(
      new Set(['rtx4090', 'a100-80gb', 'h100-80gb', 'rx7900xtx', 'm2-ultra']),
    );
    expect(fleet.every(isOfDemo)).toBe(true);
    expect(fleetOf(10)).toEqual(fleet);
    expect(fleetOf(10, '2')).not.toEqual(fleet);
  });

  test('skips worker names that are in use, and assigns the requested roles', () => {
    expect(fleetOf(2, '1', new Set(['demo-01', 'demo-03'])).map(({ name }) => name)).toEqual([
      'demo-02',
      'demo-04',
    ]);
    const fleet = planFleet({ workers: 5, ephemeral: 2, flaky: 1 }, createRandom('1'), noNames);
    expect(fleet.map(({ isEphemeral }) => isEphemeral)).toEqual([false, false, false, true, true]);
    expect(fleet.map(({ isFlaky }) => isFlaky)).toEqual([true, false, false, false, false]);
  });

  test.each([
    ['rig-1', { fleet: 'demo' }],
    ['demo-01', {}],
    ['demo-01', { fleet: 'real' }],
    ['demo-x', { fleet: 'demo' }],
    ['my-demo-01', { fleet: 'demo' }],
  ])('does not recognize %s with labels %j as a demo worker', (name, labels) => {
    expect(isOfDemo({ name, labels })).toBe(false);
  });
});

describe('a simulated training', () => {
  test('reports a falling loss, a warmed-up learning rate and every required progress field', () => {
    const plan = planTraining({ max_train_steps: 1_000 }, machine, rates, createRandom('1'));
    expect(plan).toMatchObject({ totalSteps: 1_000, failure: null });
    expect(plan.durationMs).toBeGreaterThanOrEqual(42_000);
    expect(plan.durationMs).toBeLessThan(78_000);
    const points = [0, 50, 500, 1_000].map(step => progressAt(plan, step, 0));
    for (const point of points) expect(AnyProgress.parse(point)).toEqual(point);
    const [first, warmedUp, half, last] = points as [Progress, Progress, Progress, Progress];
    expect(half.loss).toBeLessThan(first.loss! / 2);
    expect(last.loss).toBeLessThan(half.loss!);
    expect(last).toMatchObject({ step: 1_000, percent: 100, learning_rate: 0 });
    expect(warmedUp.learning_rate).toBeGreaterThan(half.learning_rate!);
    expect(first.learning_rate).toBe(0);
    expect(progressAt(plan, 500, 1).loss).toBeGreaterThan(progressAt(plan, 500, -1).loss!);
  });

  test.each([0, -5, 1.5, '100', 1e9])(
    'plans between 400 and 3,000 steps when max_train_steps is %j',
    steps => {
      const plan = planTraining({ max_train_steps: steps }, machine, rates, createRandom('1'));
      expect(plan.totalSteps).toBeGreaterThanOrEqual(400);
      expect(plan.totalSteps).toBeLessThanOrEqual(3_000);
    },
  );

  test('plans failures at the requested rate, before the last step, with a realistic error', () => {
    const random = createRandom('failures');
    const plans = Array.from({ length: 400 }, (_, index) =>
      planTraining({}, machine, { ...rates, failRate: 0.25 }, random.fork(String(index))),
    );
    const failures = plans.filter(({ failure }) => failure !== null);
    expect(failures.length).toBeGreaterThan(60);
    expect(failures.length).toBeLessThan(140);
    for (const { failure, totalSteps } of failures) expect(failure!.atStep).toBeLessThan(totalSteps);
    const messages = failures.map(({ failure }) => failure!.lines.join('\n'));
    expect(messages.some(text => text.includes('CUDA out of memory'))).toBe(true);
    expect(messages.some(text => text.includes('loss is nan'))).toBe(true);
  });

  test('reports progress during a training, which ends after the planned duration', async () => {
    const clock = createVirtualClock();
    const plan = { ...planTraining({}, machine, rates, createRandom('1')), durationMs: 10_000 };
    const printed: Progress[] = [];
    const training = train(plan, { clock, random: createRandom('1') }, progress => printed.push(progress));
    await clock.advance(9_900);
    expect(printed.length).toBeGreaterThanOrEqual(4);
    expect(printed.at(-1)?.step).toBeLessThan(plan.totalSteps);
    await clock.advance(100);
    expect(await training.exited).toEqual({ code: 0, signal: null, tail: '' });
    expect(printed.at(-1)?.step).toBe(plan.totalSteps);
    const count = printed.length;
    await clock.advance(10_000);
    expect(printed).toHaveLength(count);
  });

  test('ends a failing training at the planned step with the planned error lines', async () => {
    const clock = createVirtualClock();
    const plan = {
      ...planTraining({ max_train_steps: 100 }, machine, rates, createRandom('1')),
      durationMs: 10_000,
      failure: { atStep: 30, code: 1, lines: ['Traceback', 'ValueError: no'] },
    };
    const printed: Progress[] = [];
    const training = train(plan, { clock, random: createRandom('1') }, progress => printed.push(progress));
    await clock.advance(3_000);
    expect(await training.exited).toEqual({ code: 1, signal: null, tail: 'Traceback\nValueError: no' });
    expect(printed.at(-1)?.step).toBe(30);
  });

  test('ends a stopped training shortly after the stop, and reports no more progress', async () => {
    const clock = createVirtualClock();
    const plan = planTraining({}, machine, rates, createRandom('1'));
    let prints = 0;
    const training = train(plan, { clock, random: createRandom('1') }, () => (prints += 1));
    await clock.advance(5_000);
    const before = prints;
    training.stop();
    await clock.advance(5_000);
    expect(await training.exited).toEqual({ code: null, signal: 'SIGTERM', tail: '' });
    expect(prints).toBe(before);
  });
});

describe('a flaky worker', () => {
  const startAbsences = () => {
    const clock = createVirtualClock();
    const tally = newTally();
    const startedAt = clock.mono();
    const changes: (readonly [change: 'disconnected' | 'reconnected', at: number])[] = [];
    const record = (change: 'disconnected' | 'reconnected') => () =>
      void changes.push([change, clock.mono() - startedAt]);
    const worker = { vanish: record('disconnected'), comeBack: record('reconnected') };
    const end = disconnectAtRandom(worker, { clock, tally, log: () => {} }, createRandom('1'));
    return { clock, tally, changes, end };
  };

  test('disconnects and reconnects a flaky worker repeatedly', async () => {
    const { clock, changes } = startAbsences();
    await clock.advance(3_600_000);
    // Each connection and each absence lasts at most 180 s, so an hour has at least 10 rounds of two changes.
    expect(changes.length).toBeGreaterThan(2 * (3_600 / 360) - 2);
    let previousAt = 0;
    for (const [index, [change, at]] of changes.entries()) {
      expect(change).toBe(index % 2 === 0 ? 'disconnected' : 'reconnected');
      const sincePrevious = at - previousAt;
      expect(sincePrevious).toBeGreaterThanOrEqual(change === 'disconnected' ? 30_000 : 10_000);
      expect(sincePrevious).toBeLessThanOrEqual(180_000);
      previousAt = at;
    }
  });

  test('reconnects a flaky worker at the end of the demo, and keeps it connected', async () => {
    const { clock, changes, tally, end } = startAbsences();
    await clock.advance(30_000);
    while (tally.away === 0) await clock.advance(1_000);
    end();
    expect(tally.away).toBe(0);
    await clock.advance(3_600_000);
    expect(changes.map(([change]) => change)).toEqual(['disconnected', 'reconnected']);
  });
});

test('reports high GPU load during a training, low load otherwise, and none for Apple GPUs', () => {
  const random = createRandom('1');
  expect(telemetryOf(machine, true, random).gpu_utilization).toBeGreaterThanOrEqual(88);
  expect(telemetryOf(machine, false, random).gpu_utilization).toBeLessThanOrEqual(2);
  expect(telemetryOf(machine, true, random).vram_used_gb).toBeGreaterThan(15);
  expect(telemetryOf({ ...machine, accelerator: 'mps' }, true, random)).toEqual({});
});

test('reports figures of each GPU that stay within its limits and add up to the totals', () => {
  const eight = { ...machine, gpuCount: 8, vramGb: 80, powerLimitW: 700 };
  const { gpu_figures: gpus = [], vram_used_gb: usedGb } = telemetryOf(eight, true, createRandom('1'));
  expect(gpus.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(gpus.reduce((sum, gpu) => sum + (gpu.vram_used_gb ?? 0), 0)).toBeCloseTo(Number(usedGb), 1);
  for (const gpu of gpus) {
    expect(gpu).toMatchObject({ power_limit_w: 700 });
    expect(gpu.power_w).toBeLessThan(700);
    expect(gpu.temperature_c).toBeGreaterThan(50);
  }
});

test('generates valid sample jobs that match their demo machine', () => {
  const random = createRandom('1');
  const fleets = Array.from({ length: 20 }, () => fleetOf(10));
  for (const { machine: demoMachine } of fleets.flat()) {
    const job = SubmitRequest.parse(sampleJob(demoMachine, random));
    expect(job.worker_labels['fleet']).toBe('demo');
    expect(demoMachine.gpuType.startsWith(job.worker_labels['gpu_type']!.slice(0, -1))).toBe(true);
    expect(job.gpu_count).toBeGreaterThan(0);
    expect(job.gpu_count).toBeLessThanOrEqual(demoMachine.gpuCount);
    expect(job.gpu_vram_gb).toBeLessThanOrEqual(demoMachine.vramGb);
  }
});

describe('the demo output', () => {
  const status = { ...newTally(), workers: 3, submitted: null };
  test('shows rare counts in the status line only when they are not zero', () => {
    expect(statusLine(status)).toBe('0 of 3 connected, 0 training, 0 completed, 0 failed');
    expect(statusLine({ ...status, connected: 1, stopped: 1, away: 1, ended: 1, submitted: 7 })).toBe(
      '1 of 3 connected, 0 training, 0 completed, 0 failed, 1 stopped, 1 disconnected, 1 ended, 7 submitted',
    );
  });

  /** Shows the same status twice, a log line and a changed status. Returns the output. */
  const show = (screen: { columns: number; rows: number } | null, flags = {}) => {
    let output = '';
    const terminal = {
      out: (text: string) => void (output += text),
      // The exclamation mark shows that the text goes to stderr.
      err: (text: string) => void (output += `! ${text}`),
      outScreen: () => screen,
      errScreen: () => screen,
      ask: null,
      stdin: null,
    };
    const display = createDisplay({ terminal, flags });
    display.status(status);
    display.status(status);
    display.log('evil\u001b[2J');
    display.status({ ...status, connected: 3 });
    display.close();
    return output;
  };

  test('prints one status line per change when the output is not a terminal', () => {
    expect(show(null)).toBe(
      '0 of 3 connected, 0 training, 0 completed, 0 failed\n! evil [2J\n' +
        '3 of 3 connected, 0 training, 0 completed, 0 failed\n',
    );
  });

  test('redraws a single truncated status line on a terminal', () => {
    expect(show({ columns: 20, rows: 5 })).toBe(
      `${'\r\u001b[2K0 of 3 connected, …'.repeat(2)}\r\u001b[2K! evil [2J\n\r\u001b[2K3 of 3 connected, …\n`,
    );
  });

  test('prints each status as JSON with --json', () => {
    const [first = ''] = show({ columns: 20, rows: 5 }, { json: true }).split('\n');
    expect(JSON.parse(first)).toEqual({ type: 'status', ...status });
  });
});
