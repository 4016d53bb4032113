/**
 * Images in TensorBoard event files become samples of the job. Uses a real server, a real worker, and a trainer that
 * writes only event files.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { eventsName, imageEvent, scalar, stringsEvent } from '../support/event-files.ts';
import { pathsBelow } from '../support/files-below.ts';
import { pngOf } from '../support/picture.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

const red = pngOf(3, 2, () => [255, 0, 0]);
const green = pngOf(3, 2, () => [0, 255, 0]);
const first = imageEvent(100, 'validation', red);
const second = imageEvent(200, 'validation', green);

/**
 * Creates a trainer that writes an event file in three parts, and then ends. It writes the first part at its start, and
 * the others when `go(1)` and `go(2)` are called.
 */
function makeTrainer() {
  const folder = temporaryFolder();
  const parts = [
    Buffer.concat([scalar(100, 'loss', 0.5), first, second.subarray(0, 40)]),
    second.subarray(40),
    stringsEvent(300, '../../x', Buffer.from('3'), Buffer.from('2'), red, green),
  ];
  parts.forEach((part, index) => writeFileSync(join(folder, `part-${index}`), part));
  const file = `'{output_dir}'/logs/${eventsName}`;
  const append = (index: number): string => `cat ${folder}/part-${index} >> ${file}`;
  const wait = (index: number): string => `until [ -e ${folder}/${index} ]; do sleep 0.05; done`;
  const steps = [`mkdir '{output_dir}'/logs`, append(0), wait(1), append(1), wait(2), append(2)];
  return {
    args: ['--name', 'rig-1', '--persistent', '--trainer', `sh -c "${steps.join('; ')}"`],
    go: (index: number) => writeFileSync(join(folder, String(index)), ''),
  };
}

test('uploads each image of an event file exactly once, even if the worker is killed', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { token } = await server.createWorker({ name: 'rig-1' });
  const [stateHome, trainer] = [temporaryFolder(), makeTrainer()];
  const start = () => startWorker({ url: server.url, token, args: trainer.args, stateHome });
  const samplesOf = async (id: JobId) => {
    const listed = valueOf(await server.admin.call(artifactsApi.list, { params: { id }, query: {} }));
    return listed.artifacts.filter(({ kind }) => kind === 'sample_image').toReversed();
  };
  const waitForCount = (id: JobId, count: number) =>
    vi.waitFor(
      async () => {
        const samples = await samplesOf(id);
        expect(samples).toHaveLength(count);
        return samples;
      },
      { interval: 100, timeout: 40_000 },
    );

  const agent = start();
  await agent.waitForLine(/^Connected/);
  const job = await server.submit({ config: {} });
  const [sample] = await waitForCount(job, 1);
  expect(sample).toMatchObject({
    key: 'tensorboard-images/logs/step_100_validation_0.png',
    bytes: red.length,
  });
  agent.kill('SIGKILL');
  await agent.exited;
  trainer.go(1);
  await start().waitForLine(/^Job .* goes on/);
  const [same, next] = await waitForCount(job, 2);
  expect(same).toEqual(sample);
  expect(next).toMatchObject({
    key: 'tensorboard-images/logs/step_200_validation_0.png',
    bytes: green.length,
  });

  trainer.go(2);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  const all = await waitForCount(job, 4);
  expect(all.slice(0, 2)).toEqual([same, next]);
  expect(
    all
      .slice(2)
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual([
    expect.stringMatching(/^tensorboard-images\/logs\/step_300_x-[0-9a-f]{8}_0\.png$/),
    expect.stringMatching(/^tensorboard-images\/logs\/step_300_x-[0-9a-f]{8}_1\.png$/),
  ]);
  for (const { key } of all) {
    const answer = await fetch(`${server.url}/api/queue/${job}/artifacts/${key}`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    const expected = key.includes('200') || key.endsWith('_1.png') ? green : red;
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(expected);
  }
  const images = pathsBelow(stateHome).find(path => /[\\/]images$/.test(path)) ?? '';
  await vi.waitFor(() => expect(existsSync(images) ? readdirSync(images) : ['none']).toEqual([]), {
    interval: 100,
    timeout: 20_000,
  });
}, 120_000);
