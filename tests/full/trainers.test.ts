/** Runs a job of each trainer, from the user's config to the model on the server. A power cut stops the first rig of each job. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify as toToml } from 'smol-toml';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify as toYaml } from 'yaml';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { root, startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { endTrainings } from '../support/trainings.ts';
import { aiToolkit, diffusers, kohya, onetrainer, simpletuner } from '../unit/trainers/configs.ts';
import { until } from '../unit/agent/guard-rig.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

const standIn = join(root, 'tests/support/trainers/stand-in.ts');

/** Creates a checkout of a trainer with a virtual environment, in which `python` starts a stand-in for the trainer. */
function openCheckout(script: string): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'venv/bin'), { recursive: true });
  const python = `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`;
  writeFileSync(join(folder, 'venv/bin/python'), python, { mode: 0o755 });
  // sd-scripts has one script per kind of model, and Trainyard recognizes the checkout by train_network.py.
  for (const file of [script, 'train_network.py']) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  return folder;
}

const firstProcess = aiToolkit.config.process[0];
const aiToolkitConfig = {
  ...aiToolkit,
  config: {
    name: 'dog',
    process: [
      {
        ...firstProcess,
        save: { save_every: 50 },
        train: { steps: 200, lr: 1e-4 },
        datasets: [{ folder_path: './dog', caption_ext: 'txt' }],
      },
    ],
  },
};
const ownConfig = { train_data: '{folder}/dog', max_steps: 200, save_steps: 50 };
/** Returns the value of `--trainer` for a script of the user. */
const ownScript = (name: string): string =>
  `command='${process.execPath}' '${standIn}' ${name} {config_path} {output_dir} '{resume_from}'`;

/**
 * The checkout and the files of a user of each trainer. `where`: the value of `--trainer` for a checkout. `files`: the files
 * beside the images in `dog`; the first one is the config to submit. `newest`: the newest checkpoint when the power of the rig
 * fails. `model`: the file with the result.
 */
const bundles = {
  simpletuner: {
    script: 'unused.py',
    where: (folder: string) => `simpletuner=${join(folder, 'venv')}`,
    files: {
      'config/config.json': JSON.stringify({
        ...simpletuner,
        output_dir: '/home/ada/out',
        max_train_steps: 200,
        checkpoint_step_interval: 50,
      }),
      'config/multidatabackend.json': '[{"id": "dog", "type": "local", "instance_data_dir": "dog"}]',
      'config/lycoris_config.json': '{"algo": "lokr"}',
    },
    newest: 'checkpoint-100',
    model: 'pytorch_lora_weights.safetensors',
  },
  'ai-toolkit': {
    script: 'run.py',
    where: (folder: string) => `ai-toolkit=${folder}`,
    files: { 'train_lora_flux.yaml': toYaml(aiToolkitConfig) },
    newest: 'dog/dog_000000100.safetensors',
    model: 'dog/dog.safetensors',
  },
  kohya: {
    script: 'sdxl_train_network.py',
    where: (folder: string) => `kohya=${folder}`,
    files: {
      'dog.toml': toToml({ ...kohya, max_train_steps: 200, save_every_n_steps: 50, save_state: true }),
      'dataset.toml':
        '[[datasets]]\nresolution = 512\n[[datasets.subsets]]\nimage_dir = "./dog"\ncaption_extension = ".txt"\n',
    },
    newest: 'dog-step00000100-state',
    model: 'dog.safetensors',
  },
  onetrainer: {
    script: 'scripts/train.py',
    where: (folder: string) => `onetrainer=${folder}`,
    files: {
      'dog.json': JSON.stringify({ ...onetrainer, epochs: 20, backup_after: 50 }),
      'concepts.json': '[{"name": "dog", "path": "dog"}]',
    },
    newest: 'backup/2026-11-23_17-01-40-backup-100-10-0',
    model: 'lora.safetensors',
  },
  diffusers: {
    script: diffusers.script,
    where: (folder: string) => `diffusers=${folder}`,
    files: { 'dog.json': JSON.stringify({ ...diffusers, max_train_steps: 200, checkpointing_steps: 50 }) },
    newest: 'checkpoint-100',
    model: 'pytorch_lora_weights.safetensors',
  },
  transformers: {
    script: 'unused.py',
    where: () => ownScript('transformers'),
    files: { 'own.json': JSON.stringify(ownConfig) },
    newest: 'checkpoint-100',
    model: 'model.safetensors',
  },
  lightning: {
    script: 'unused.py',
    where: () => ownScript('lightning'),
    files: { 'own.json': JSON.stringify(ownConfig) },
    newest: 'lightning_logs/version_0/checkpoints/epoch=0-step=100.ckpt',
    model: 'model.safetensors',
  },
} as const;
type Name = keyof typeof bundles;
const names = Object.keys(bundles) as readonly Name[];
const images = { 'a.jpg': 'one', 'a.txt': 'a photo of a dog', 'b.jpg': 'two' };

/** Submits the config of a user's folder. The folder is deleted afterwards, so the job must contain everything. */
async function submit(name: Name): Promise<JobId> {
  const folder = temporaryFolder();
  const { files } = bundles[name];
  const imageFiles = Object.entries(images).map(([file, text]) => [`dog/${file}`, text] as const);
  for (const [file, text] of [...Object.entries(files), ...imageFiles]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text.replace('{folder}', folder));
  }
  const [config = ''] = Object.keys(files);
  // The config of a custom script does not show which of its values is a data folder, so `--data` names the folder.
  const isOwn = name === 'transformers' || name === 'lightning';
  const data = isOwn ? ['--data', join(folder, 'dog'), '--label', `script=${name}`] : [];
  const argv = ['jobs', 'submit', join(folder, config), '--gpus', '0', ...data];
  const { out, err, code } = await runTrainyard([...argv, '--json', '--data-dir', server.dataDir]);
  if (code !== 0) throw new Error(`${name}: ${err}`);
  rmSync(folder, { recursive: true });
  return JobId.parse((JSON.parse(out) as { readonly job_id: string }).job_id);
}

/** Starts a rig with one trainer. If the name of the rig ends with -1, the training waits at step 110 forever. */
async function startRig(rig: string, name: Name) {
  const { script, where } = bundles[name];
  const { id, token } = await server.createWorker({ name: rig });
  const stateHome = temporaryFolder();
  const hold = join(stateHome, 'hold');
  if (rig.endsWith('-1')) writeFileSync(hold, '110');
  const program = startWorker({
    url: server.url,
    token,
    stateHome,
    args: [
      '--name',
      rig,
      '--persistent',
      '--label',
      `script=${name}`,
      '--trainer',
      where(openCheckout(script)),
    ],
    env: { STAND_IN_HOLD: hold },
  });
  await server.watch.worker(id, 'idle');
  /** Kills agent, guard and trainer, as a power cut does. */
  const cutPower = async (): Promise<void> => {
    program.kill('SIGKILL');
    await program.exited;
    await endTrainings(stateHome);
  };
  const logOf = (job: JobId): string =>
    readFileSync(join(stateHome, 'trainyard', rig, 'jobs', job, 'trainer.log'), 'utf8');
  return { id, cutPower, logOf };
}

const keysOf = async (id: JobId): Promise<readonly string[]> =>
  valueOf(await server.admin.call(artifactsApi.list, { params: { id }, query: {} })).artifacts.map(
    ({ key }) => key,
  );
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const newestOf = async (id: JobId) =>
  valueOf(await server.admin.call(artifactsApi.checkpoints, { params: { id } })).checkpoints.find(
    ({ newest }) => newest,
  );

test('runs a job of each trainer with its images, resumes it on another rig, and uploads the model', async () => {
  const firstRigs = await Promise.all(names.map(name => startRig(`${name}-1`, name)));
  const jobs = await Promise.all(names.map(submit));
  for (const [index, name] of names.entries()) {
    const { worker_id: worker } = valueOf(
      await server.admin.call(queueApi.get, { params: { id: jobs[index]! } }),
    );
    expect([name, worker]).toEqual([name, firstRigs[index]?.id]);
    await until(
      async () => ((await newestOf(jobs[index]!))?.name === bundles[name].newest ? true : null),
      60_000,
    );
  }
  await Promise.all(firstRigs.map(({ cutPower }) => cutPower()));
  const secondRigs = await Promise.all(names.map(name => startRig(`${name}-2`, name)));
  for (const [index, name] of names.entries()) {
    const id = jobs[index]!;
    expect(await server.watch.jobEnd(id)).toMatchObject({ status: 'completed', attempt: 2 });
    const { attempts } = valueOf(await server.admin.call(queueApi.get, { params: { id } }));
    expect(attempts.map(({ resumed }) => resumed)).toContainEqual(
      expect.objectContaining({ checkpoint: bundles[name].newest }),
    );
    expect([name, secondRigs[index]?.logOf(id)]).toEqual([
      name,
      expect.stringContaining('continuing after step 100'),
    ]);
    for (const [file, text] of Object.entries(images))
      expect(secondRigs[index]?.logOf(id)).toContain(`data ${file} ${sha256(text)}\n`);
    await until(async () => ((await keysOf(id)).includes(bundles[name].model) ? true : null), 60_000);
  }
}, 180_000);

test('keeps a job pending while no rig has its trainer, and explains why', async () => {
  await startRig('kohya-2', 'kohya');
  const job = await server.submit({ config: aiToolkitConfig, gpu_count: 0 });
  const { summary } = valueOf(await server.admin.call(queueApi.explain, { params: { id: job } }));
  expect(summary).toBe('No idle workers: 0 of 1 worker can take this job: 1 without ai-toolkit');
}, 60_000);

/** Creates a checkout of sd-scripts that only parses arguments, with a real Python that finds all imported modules. */
function openSdScripts(python: string) {
  const folder = openCheckout('sdxl_train_network.py');
  const packages = temporaryFolder();
  for (const name of ['accelerate', 'torch']) {
    mkdirSync(join(packages, `${name}-1.0.dist-info`));
    writeFileSync(join(packages, `${name}-1.0.dist-info/METADATA`), `Name: ${name}\nVersion: 1.0\n`);
    writeFileSync(join(packages, `${name}.py`), '');
  }
  const wrapper = `#!/bin/sh\nPYTHONPATH='${packages}' exec '${python}' "$@"\n`;
  writeFileSync(join(folder, 'venv/bin/python'), wrapper, { mode: 0o755 });
  mkdirSync(join(folder, 'library'));
  const options = Object.keys({ ...kohya, learning_rate: 1 }).filter(key => key !== 'script');
  const code = options.map(key => `    parser.add_argument("--${key}", default=None)\n`).join('');
  writeFileSync(join(folder, 'library/train_util.py'), `def add_arguments(parser):\n${code}`);
  return folder;
}

const python3 = (process.env['PATH'] ?? '')
  .split(':')
  .map(folder => join(folder, 'python3'))
  .find(file => existsSync(file));

test.skipIf(python3 === undefined)(
  "warns of a misspelled key before submission once a rig has reported its trainer's keys",
  async () => {
    const { token } = await server.createWorker({ name: 'rig-1' });
    const stateHome = temporaryFolder();
    const args = ['--name', 'rig-1', '--persistent', '--trainer', `kohya=${openSdScripts(python3 ?? '')}`];
    startWorker({ url: server.url, token, stateHome, args });
    const config = { ...kohya, dataset_config: undefined, train_data_dir: undefined, lerning_rate: 1e-4 };
    const file = join(temporaryFolder(), 'dog.toml');
    writeFileSync(file, toToml(config));
    const argv = ['jobs', 'submit', file, '--dry-run', '--data-dir', server.dataDir];
    const out = await until(async () => {
      const answer = await runTrainyard(argv);
      return answer.out.includes('Warning') ? answer.out : null;
    }, 30_000);
    expect(out).toContain(
      'kohya\'s sd-scripts does not know the key "lerning_rate" and ignores it. Did you mean "learning_rate"?',
    );
    expect(out.match(/does not know/g)).toHaveLength(1);
  },
  60_000,
);
