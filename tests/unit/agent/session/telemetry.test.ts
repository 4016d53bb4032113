import { expect, it, vi } from 'vitest';
import type { CommandResult } from '../../../../agent/process/run-command.ts';
import type { Cards } from '../../../../agent/gpu/conditions.ts';
import type { GpuReport } from '../../../../agent/gpu/probe.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import { createTelemetry } from '../../../../agent/session/telemetry.ts';
import { exited, TIMED_OUT } from '../../../support/gpu-machine.ts';

const knownTroubles = [{ gpu: 0, kind: 'missing', detail: 'it is lost' }] as const;
const gpu = (index: number) => ({ index, name: 'RTX 4090', vramGb: 24 });
const twoGpus: GpuReport = makeReport('cuda', [gpu(0), gpu(1)]);

/** Creates the telemetry of these GPUs. The test answers each query of the driver. */
function createFixture(report: GpuReport) {
  const queries: PromiseWithResolvers<CommandResult>[] = [];
  const run = () => {
    const query = Promise.withResolvers<CommandResult>();
    queries.push(query);
    return query.promise;
  };
  const watch = {
    noteCards: (_cards: Cards) => {},
    checkIfDue: () => Promise.resolve(),
    troubles: () => knownTroubles,
  };
  const { latest } = createTelemetry(run, report, watch);
  /** Returns the telemetry without the GPU problems, which every report contains. */
  const telemetry = () => {
    const { gpu_troubles: troubles, ...figures } = latest();
    expect(troubles).toBe(knownTroubles);
    return figures;
  };
  return { queries, telemetry };
}

const rows = (...lines: readonly string[]): CommandResult => exited(0, lines.join('\n'));

it('returns the figures of the last finished query, and starts the next query without waiting', async () => {
  const { queries, telemetry } = createFixture(twoGpus);
  expect(telemetry()).toEqual({});
  expect(queries).toHaveLength(1);
  queries[0]?.resolve(rows('0, 90, 12288, 60, 300', '1, 51, 6144, 60, 300'));
  const figures = { temperature_c: 60, power_w: 300, power_limit_w: null };
  await vi.waitFor(() =>
    expect(telemetry()).toEqual({
      gpu_utilization: 71,
      vram_used_gb: 18,
      gpu_figures: [
        { index: 0, utilization: 90, vram_used_gb: 12, ...figures },
        { index: 1, utilization: 51, vram_used_gb: 6, ...figures },
      ],
    }),
  );
  expect(queries.length).toBeGreaterThan(1);
});

it('starts no second query while the driver hangs', () => {
  const { queries, telemetry } = createFixture(twoGpus);
  for (let call = 0; call < 100; call += 1) expect(telemetry()).toEqual({});
  expect(queries).toHaveLength(1);
});

it.each<[string, CommandResult]>([
  ['a driver that did not answer', TIMED_OUT],
  ['a missing driver tool', { kind: 'missing' }],
  ['rows without figures', rows('0, [N/A], [N/A], [N/A], [N/A]', '1, [N/A], [N/A], [N/A], [N/A]')],
])('returns no figures for %s, and queries again', async (_title, result) => {
  const { queries, telemetry } = createFixture(twoGpus);
  telemetry();
  queries[0]?.resolve(result);
  await vi.waitFor(() => {
    telemetry();
    expect(queries).toHaveLength(2);
  });
  expect(JSON.stringify(telemetry())).toBe('{}');
});

it('returns the figures of only the GPUs that the worker uses', async () => {
  const { queries, telemetry } = createFixture(makeReport('cuda', [gpu(1)]));
  telemetry();
  queries[0]?.resolve(rows('0, 90, 12288, 60, 300', '1, 10, 1024, 60, 300'));
  await vi.waitFor(() =>
    expect(telemetry()).toMatchObject({ gpu_utilization: 10, vram_used_gb: 1, gpu_figures: [{ index: 1 }] }),
  );
});

it('returns the figures of at most 64 GPUs', async () => {
  const { queries, telemetry } = createFixture(
    makeReport(
      'cuda',
      Array.from({ length: 70 }, (_, n) => gpu(n)),
    ),
  );
  telemetry();
  queries[0]?.resolve(rows(...Array.from({ length: 70 }, (_, n) => `${n}, 90, 1024, 60, 300`)));
  await vi.waitFor(() => expect(telemetry().gpu_figures).toHaveLength(64));
});

it('runs no tool on a machine without GPUs', () => {
  const { queries, telemetry } = createFixture(makeReport('cpu', []));
  expect(telemetry()).toEqual({});
  expect(queries).toEqual([]);
});
