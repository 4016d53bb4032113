import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobId } from '../../protocol/ids.ts';
import { type SlurmFleet, startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab();
}, 30_000);

afterAll(() => lab.stop());

/**
 * Creates a script named `sbatch`. The script waits at the gate `before`, calls the real `sbatch`, and waits at the gate
 * `after`. `open` opens gates, and `end` kills the script.
 */
function installGatedSbatch(name: string) {
  const folder = join(lab.folder, name);
  mkdirSync(folder);
  const gate = (point: string): string =>
    `touch '${folder}/at-${point}'; until [ -e '${folder}/${point}' ]; do sleep 0.05; done`;
  const real = `'${join(lab.folder, 'bin/sbatch')}' "$@"`;
  const script = `#!/bin/sh\necho $$ >'${folder}/pid'\n${gate('before')}\n${real}\ncode=$?\n${gate('after')}\nexit $code\n`;
  writeFileSync(join(folder, 'sbatch'), script);
  chmodSync(join(folder, 'sbatch'), 0o755);
  return {
    folder,
    isAt: (point: 'before' | 'after'): boolean => existsSync(join(folder, `at-${point}`)),
    open(...gates: readonly ('before' | 'after')[]): void {
      for (const file of gates) writeFileSync(join(folder, file), '');
    },
    end: (): boolean => process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')), 'SIGKILL'),
  };
}

type Gate = ReturnType<typeof installGatedSbatch>;

const launchNames = async (states: string): Promise<ReadonlySet<string>> => {
  const names = await lab.slurm('squeue', '--me', '-h', '-t', states, '-o', '%j');
  return new Set(names.split('\n').filter(name => name.startsWith('trainyard-')));
};

/** Kills the server while `sbatch` waits at a gate, calls `finish`, and starts the server with the real `sbatch`. */
async function killAt(
  gate: Gate,
  point: 'before' | 'after',
  finish: () => void,
): Promise<{ readonly fleet: SlurmFleet; readonly job: JobId }> {
  if (point === 'after') gate.open('before');
  const first = await startSlurmFleet(lab, { path: gate.folder });
  await first.createPool('gpu', { partition: 'gpu', idle_s: 5 });
  const job = await first.submitDigits(1);
  await first.until(`sbatch at the gate "${point}"`, async () => (gate.isAt(point) ? true : null));
  first.server.kill('SIGKILL');
  await first.server.exited;
  finish();
  // Workers that Slurm starts use the address of the first server, so keep its port.
  const { port } = new URL(first.server.url);
  return { fleet: await startSlurmFleet(lab, { dataDir: first.server.dataDir, port }), job };
}

/** Expects that the job completes at its first attempt, in the only new Slurm job, which then ends. */
async function expectOneLaunch(
  { fleet, job }: Awaited<ReturnType<typeof killAt>>,
  before: ReadonlySet<string>,
): Promise<void> {
  expect(await fleet.jobIn(job, 'completed', 90_000)).toMatchObject({ attempt: 1 });
  const [name, ...others] = (await launchNames('all')).difference(before);
  expect(others).toEqual([]);
  await fleet.until('the end of the launch', async () =>
    (await launchNames('RUNNING,PENDING')).has(name ?? '') ? null : true,
  );
}

test('submits a launch again after kill -9 of the server when sbatch did not run', async () => {
  const before = await launchNames('all');
  const gate = installGatedSbatch('ended');
  await expectOneLaunch(await killAt(gate, 'before', () => gate.end()), before);
}, 200_000);

test('finds the launch after kill -9 of the server when sbatch runs only after the restart', async () => {
  const before = await launchNames('all');
  const gate = installGatedSbatch('late');
  const restartedFleet = await killAt(gate, 'before', () => {});
  // The restarted server does not find the launch in Slurm yet. Because `sbatch` may still submit the launch, the server
  // waits 30 s before it submits the launch again.
  gate.open('before', 'after');
  await expectOneLaunch(restartedFleet, before);
}, 200_000);

test('finds the launch after kill -9 of the server when the answer of sbatch was lost', async () => {
  const before = await launchNames('all');
  const gate = installGatedSbatch('unanswered');
  const restartedFleet = await killAt(gate, 'after', () => gate.open('after'));
  await expectOneLaunch(restartedFleet, before);
}, 200_000);

test('submits a launch only once while slurmctld hangs, and still answers health checks', async () => {
  const before = await launchNames('all');
  const fleet = await startSlurmFleet(lab);
  const pool = await fleet.createPool('gpu', { partition: 'gpu', idle_s: 5 });
  await fleet.until('the first list', async () => {
    const { unreachable } = await fleet.pool(pool);
    return unreachable === null ? true : null;
  });
  lab.signal('slurmctld', 'SIGSTOP');
  const job = await fleet.submitDigits(1);
  const unclear = await fleet.until(
    'a launch without an answer',
    async () => {
      const [launch] = await fleet.launches(pool);
      return launch?.state === 'unclear' ? launch : null;
    },
    90_000,
  );
  expect(unclear.outcome).toBeNull();
  // The health check of the server does not wait for the engine.
  const startedAt = performance.now();
  expect((await fetch(`${fleet.server.url}/health/live`)).status).toBe(200);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  lab.signal('slurmctld', 'SIGCONT');
  await expectOneLaunch({ fleet, job }, before);
}, 300_000);
