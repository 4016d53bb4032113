import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LaunchId } from '../../../protocol/ids.ts';
import { orderOf } from '../../support/engine-contract.ts';
import { type SlurmLab, slurmEngine, startSlurmLab, waitForReport } from '../../support/slurm-lab.ts';

let lab: SlurmLab;
beforeAll(async () => {
  lab = await startSlurmLab('SlurmdTimeout=6\nMessageTimeout=5\nEnforcePartLimits=ALL\n');
}, 60_000);
afterAll(() => lab.stop(), 60_000);

const engine = () => slurmEngine(lab, { fleet: 'outage' });
const order = (id: string) => orderOf(LaunchId.parse(id), { workerName: id });
const findSighting = async (id: string) => (await engine().list()).get(LaunchId.parse(id));

it('reports a launch on Slurm as failed after its node died, and names the node', async () => {
  const frailEngine = slurmEngine(lab, { fleet: 'outage', settings: { partition: 'frail' } });
  expect(await frailEngine.launch(order('dead'))).toMatchObject({ kind: 'accepted' });
  await waitForReport(lab, 'dead', 'started');
  lab.signal('slurmd-rig4', 'SIGKILL');
  const sighting = await vi.waitFor(
    async () => {
      const found = await findSighting('dead');
      if (found?.state !== 'ended') throw new Error(`the launch has not ended: ${JSON.stringify(found)}`);
      return found;
    },
    { timeout: 60_000, interval: 500 },
  );
  expect(sighting).toMatchObject({ exit: 'node_failed', nodes: ['rig4'] });
}, 80_000);

it('reports a launch as unknown when slurmctld hangs during the call, and finds the launch later', async () => {
  lab.signal('slurmctld', 'SIGSTOP');
  const answer = await engine().launch(order('hung'));
  lab.signal('slurmctld', 'SIGCONT');
  expect(answer).toMatchObject({ kind: 'unknown', message: expect.stringMatching(/timed out/i) });
  await waitForReport(lab, 'hung', 'started');
  expect(await findSighting('hung')).toMatchObject({ state: 'running' });
  expect(
    (await lab.slurm('squeue', '--noheader', '--name=trainyard-outage-hung')).trim().split('\n'),
  ).toHaveLength(1);
}, 60_000);

it('reports a temporary refusal while slurmctld is down, and lists earlier launches after a restart of slurmctld', async () => {
  await engine().launch(order('kept'));
  await waitForReport(lab, 'kept', 'started');
  const before = await findSighting('kept');
  // slurmctld writes new jobs to its disk every few seconds, and forgets jobs that it has not written.
  const stateFile = join(lab.folder, 'state/job_state');
  await vi.waitFor(() => expect(readFileSync(stateFile).includes('trainyard-outage-kept')).toBe(true), {
    timeout: 30_000,
    interval: 200,
  });
  lab.signal('slurmctld', 'SIGKILL');
  const [answer, check] = await Promise.all([
    engine().launch(order('refused')),
    engine().check(),
    expect(engine().list()).rejects.toThrow(/Unable to contact slurm controller/),
    expect(engine().end([LaunchId.parse('kept')], 'now')).rejects.toThrow(
      /Unable to contact slurm controller/,
    ),
  ]);
  expect(answer).toMatchObject({
    kind: 'rejected',
    scope: 'temporary',
    code: 'SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR',
  });
  expect(check).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/Unable to contact slurm controller/),
  });
  lab.start('slurmctld');
  expect(await vi.waitFor(() => findSighting('kept'), { timeout: 20_000 })).toEqual(before);
  expect(await findSighting('refused')).toBeUndefined();
}, 80_000);

it('reports a permanent refusal of a launch over the time limit that Slurm enforces on the partition', async () => {
  const shortEngine = slurmEngine(lab, { fleet: 'outage', settings: { partition: 'short' } });
  expect(await shortEngine.launch(order('long'))).toMatchObject({
    kind: 'rejected',
    scope: 'permanent',
    code: 'ESLURM_INVALID_TIME_LIMIT',
  });
});
