/** `trainyard templates` and `trainyard jobs submit --template`, in this process against a server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

// The dataset config is an example from the documentation of sd-scripts.
const dataset = `[general]
caption_extension = ".txt"

[[datasets]]
resolution = 512
  [[datasets.subsets]]
  image_dir = "C:\\\\piyo"
  num_repeats = 10 # times
`;
const config = `script = "sdxl_train_network.py"
pretrained_model_name_or_path = "model.safetensors"
dataset_config = "dataset.toml"
network_module = "networks.lora"
learning_rate = 1e-4
max_train_steps = 1600
`;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startTestServer();
  folder = join(server.dataDir, 'mine');
  mkdirSync(folder);
  writeFileSync(join(folder, 'lora.toml'), config);
  writeFileSync(join(folder, 'dataset.toml'), dataset);
  writeFileSync(
    join(folder, 'asked.yaml'),
    'parameters:\n  - { key: network_dim, type: integer, choices: [8, 16], default: 8, label: Rank }\n',
  );
});
afterAll(() => server.close());

const run = (...args: readonly string[]) => runTrainyard([...args, '--data-dir', server.dataDir]);
const saveFile = (...args: readonly string[]) =>
  run('templates', 'save', ...args, join(folder, 'lora.toml'), '--no-data');
const imageDir = 'file:dataset.toml:datasets.0.subsets.0.image_dir';

describe('trainyard templates', () => {
  it('saves a local config with its files as a template, and submits a job with other values', async () => {
    const askFlags = ['--ask', 'learning_rate=1e-4', '--ask', imageDir, '--ask', 'job:gpu_count=1'];
    const parametersFlags = ['--parameters', join(folder, 'asked.yaml')];
    const saved = await saveFile('lora', '--description', 'for the team', ...askFlags, ...parametersFlags);
    expect(saved).toMatchObject({
      code: 0,
      err: 'To submit from it, run "trainyard jobs submit --template lora"\n',
    });
    const templateText = await run('templates', 'show', 'lora');
    for (const text of [
      'for the team',
      'network_dim: integer, default 8, one of 8, 16, Rank',
      'learning_rate: number, default "1e-4"',
      'datasets.0.subsets.0.image_dir: text, required, in dataset.toml',
      'gpu_count: integer, default "1", in the job',
    ])
      expect(templateText.out).toContain(text);
    expect((await run('templates')).out).toMatch(/lora +kohya +lora +network_dim learning_rate/);
    const setFlags = ['--set', 'learning_rate=3e-4', '--set', 'datasets.0.subsets.0.image_dir=/data/my cat'];
    const { code, out } = await run(
      'jobs',
      'submit',
      '--template',
      'lora',
      ...setFlags,
      '--name',
      'cat',
      '-o',
      'job_id',
    );
    expect(code).toBe(0);
    const params = { id: out.trim() as never };
    expect(valueOf(await server.admin.call(queueApi.get, { params }))).toMatchObject({
      name: 'cat',
      template: 'lora',
      gpu_count: 1,
    });
    const jobConfig = valueOf(await server.admin.call(queueApi.config, { params }));
    expect(jobConfig.config).toMatchObject({ learning_rate: 3e-4, network_dim: 8, max_train_steps: 1600 });
    expect(jobConfig.files).toEqual({
      'dataset.toml': dataset.replace(String.raw`C:\\piyo`, '/data/my cat'),
    });
  });

  it('derives the types of template parameters from a job, and keeps fields that a replacement does not name', async () => {
    const job = await server.submit({ config: { on: true, steps: 500, scheduler: 'cosine', lr: 1 } });
    const askFlags = ['on', 'steps', 'scheduler', 'lr'].flatMap(key => ['--ask', key]);
    expect(
      (await run('templates', 'save', 'from job', '--job', job, '--description', 'd', ...askFlags)).code,
    ).toBe(0);
    const refused = await run('templates', 'save', 'from job', '--job', job);
    expect(refused).toMatchObject({ code: 5, err: 'There is a template "from job" already\n' });
    const replacedRun = await run('templates', 'save', 'from job', '--job', job, '--replace', '--json');
    expect(JSON.parse(replacedRun.out)).toMatchObject({
      description: 'd',
      revision: 2,
      parameters: [
        { key: 'on', type: 'boolean' },
        { key: 'steps', type: 'integer' },
        { key: 'scheduler', type: 'text' },
        { key: 'lr', type: 'number' },
      ],
    });
    expect((await run('templates', 'delete', 'from job', '--yes')).out).toContain('from job');
    expect((await run('templates', 'show', 'from job')).code).toBe(4);
  });

  it('checks the values of a template in a dry run, and names the invalid ones', async () => {
    await saveFile('dry', '--ask', 'learning_rate', '--ask', 'max_train_steps=10');
    const dryRun = await run('jobs', 'submit', '--template', 'dry', '--set', 'learning_rate=1', '--dry-run');
    expect(dryRun).toMatchObject({ code: 0, err: 'Nothing was submitted\n' });
    const invalidValuesRun = await run(
      'jobs',
      'submit',
      '--template',
      'dry',
      '--set',
      'max_train_steps=many',
    );
    expect(invalidValuesRun.code).toBe(7);
    expect(invalidValuesRun.err).toContain(
      'learning_rate: a value is required; max_train_steps: expected a whole number',
    );
  });

  it('submits a sweep over parameters of the template and over other values of its config', async () => {
    await saveFile('grid', '--ask', 'learning_rate', '--ask', 'max_train_steps=10');
    const args = ['jobs', 'submit', '--template', 'grid', '--sweep', 'learning_rate=1e-4,3e-4'];
    const swept = await run(
      ...args,
      '--sweep',
      'network_dim=8,16',
      '--set',
      'max_train_steps=20',
      '--group',
      'g',
    );
    expect(swept).toMatchObject({ code: 0, err: 'Submitted 4 jobs in group g\n' });
    const [head, ...lines] = swept.out
      .trimEnd()
      .split('\n')
      .map(line => line.split(/ {2,}/));
    expect(head).toEqual(['ID', 'learning_rate', 'network_dim', 'NAME']);
    expect(lines.map(([, ...values]) => values)).toContainEqual([
      '0.0003',
      '8',
      'grid learning_rate=0.0003 network_dim=8',
    ]);
    const params = { id: (lines[3]?.[0] ?? '') as never };
    const { config: sent } = valueOf(await server.admin.call(queueApi.config, { params }));
    expect(sent).toMatchObject({ learning_rate: 3e-4, network_dim: 16, max_train_steps: 20 });
    expect(valueOf(await server.admin.call(queueApi.get, { params }))).toMatchObject({
      template: 'grid',
      group: 'g',
      sweep: { learning_rate: 3e-4, network_dim: 16 },
    });
    const refused = await run(...args, '--sweep', 'max_train_steps=1,many');
    expect(refused).toMatchObject({
      code: 7,
      err: expect.stringContaining('max_train_steps: expected a whole number, not "many"'),
    });
  });

  it.each([
    [['jobs', 'submit'], 'Give a config, or a template with --template'],
    [['jobs', 'submit', 'x', '--set', 'a=1'], '--set needs --template'],
    [['jobs', 'submit', 'x', '--template', 't'], 'Give either a config or --template'],
    [['jobs', 'submit', '--template', 't', '--gpus', '2'], '--gpus does not go with --template'],
    [
      ['jobs', 'submit', '--template', 't', '--sweep', 'a=1', '--set', 'a=2'],
      '--set: give a key either one value',
    ],
    [
      ['jobs', 'submit', '--template', 't', '--sweep', 'a=1', '--gpus', '2'],
      '--gpus does not go with --template',
    ],
    [['jobs', 'submit', '--template', 't', '--sweep', 'a=1,1'], '--sweep: the same value is given twice'],
    [['jobs', 'submit', '--template', 't', '--set', 'a'], 'Use the form KEY=VALUE'],
    [['templates', 'save', 't'], 'Give either a config or --job'],
    [['templates', 'save', 't', 'x', '--ask', 'file:a'], 'Use the form KEY'],
    [['templates', 'save', 'a/b', 'x'], 'TEMPLATE: '],
  ])('exits with 2 and a reason for invalid template arguments: trainyard %j', async (args, message) => {
    const { code, err } = await run(...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
