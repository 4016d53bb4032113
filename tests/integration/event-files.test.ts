/** Users download the TensorBoard event files of a real rig exactly as the trainer wrote them, also after a failure. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { root, startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const folder = 'runs/Nov23_03-36-57_vm';
const name = 'events.out.tfevents.1795405017.vm.500.0';
const recording = join(root, 'tests/unit/agent/recordings/hf-tensorboard.out', folder, name);

/** Script of a trainer that writes a recorded event file in two parts, and exits with the code in its config. */
const trainer = `
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
const [, , config, out, recording] = process.argv;
const bytes = readFileSync(recording);
mkdirSync(out + '/${folder}', { recursive: true });
const file = out + '/${folder}/${name}';
appendFileSync(file, bytes.subarray(0, 1000));
console.log('half');
appendFileSync(file, bytes.subarray(1000));
process.exit(JSON.parse(readFileSync(config, 'utf8')).code);
`;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterAll(() => server.close());

async function startRig(rig: string): Promise<void> {
  const { token } = await server.createWorker({ name: rig, labels: { rig } });
  const stateHome = temporaryFolder();
  const script = join(stateHome, 'train.mjs');
  writeFileSync(script, trainer);
  const command = `'${process.execPath}' '${script}' {config_path} {output_dir} '${recording}'`;
  startWorker({ url: server.url, token, stateHome, args: ['--name', rig, '--trainer', command] });
}

test.each([
  ['completed', 0],
  ['failed', 3],
])('downloads the event file of a %s job with its folder, byte for byte', async (status, code) => {
  await startRig(status);
  const job = await server.submit({ config: { code }, max_retries: 0, worker_labels: { rig: status } });
  expect(await server.watch.jobEnd(job)).toMatchObject({ status });
  const targetFolder = temporaryFolder();
  const download = () =>
    runTrainyard(['jobs', 'download', job, 'runs', '--to', targetFolder, '--data-dir', server.dataDir]);
  // The last files of a completed job arrive after its end.
  await expect.poll(async () => (await download()).code, { timeout: 20_000, interval: 200 }).toBe(0);
  expect(readdirSync(join(targetFolder, folder))).toEqual([name]);
  expect(readFileSync(join(targetFolder, folder, name)).equals(readFileSync(recording))).toBe(true);
});
