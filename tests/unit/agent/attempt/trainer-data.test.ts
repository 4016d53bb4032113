import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareJob, type Rig } from '../../../../agent/attempt/trainer.ts';
import type { JobOffer } from '../../../../agent/job.ts';
import { WorkerCommand } from '../../../../protocol/worker-api.ts';
import { offerOf, rigOf, tempFolder } from '../builders.ts';
import { runToEnd } from '../guard-fixture.ts';

const environmentOf = (offer: Partial<JobOffer>, rig: Partial<Rig>) => {
  const prepared = prepareJob(offerOf('j1', 'a1', offer), rigOf(tempFolder(), rig));
  if (!prepared.ok) throw new Error(prepared.message);
  return { env: prepared.job.env, config: join(prepared.job.folder, 'config.json') };
};

describe("a trainer's environment", () => {
  it("passes the agent's variables to the trainer, but no Trainyard tokens", () => {
    const { env, config } = environmentOf(
      { upload_endpoint: '/api/cloud/storage/b', upload_token: 'ut_1', hf_token: 'hf_1' },
      {
        orchestratorUrl: 'https://host/prefix',
        env: {
          PATH: '/bin',
          HOME: '/home/me',
          HF_HOME: '/models',
          SIMPLETUNER_WORKER_TOKEN: 'wt_canary',
          ADMIN_TOKEN: 'ta_canary',
          NODE_TLS_REJECT_UNAUTHORIZED: '0',
        },
      },
    );
    expect(env).toEqual({
      PATH: '/bin',
      HOME: '/home/me',
      HF_HOME: '/models',
      CONFIG_PATH: config,
      SIMPLETUNER_CONFIG_BACKEND: 'json',
      SIMPLETUNER_UPLOAD_ENDPOINT: 'https://host/prefix/api/cloud/storage/b',
      SIMPLETUNER_UPLOAD_TOKEN: 'ut_1',
      TRAINYARD_RESUME_FROM: '',
      HF_TOKEN: 'hf_1',
      PYTHONUNBUFFERED: '1',
    });
  });

  it('sets no HF_TOKEN when the offer has none, and keeps the HF_TOKEN of the rig', () => {
    expect(environmentOf({}, {}).env).toMatchObject({ SIMPLETUNER_UPLOAD_TOKEN: '' });
    expect(environmentOf({}, {}).env).not.toHaveProperty('HF_TOKEN');
    expect(environmentOf({}, { env: { HF_TOKEN: 'hf_rig' } }).env).toMatchObject({ HF_TOKEN: 'hf_rig' });
  });

  it('makes only the GPUs of the job visible to the trainer, independent of the GPUs visible to the agent', () => {
    const gpuEnv = (gpus: readonly number[] | null) => ({ CUDA_VISIBLE_DEVICES: gpus?.join(',') ?? 'all' });
    const visibleGpus = (gpus: number[] | null): unknown =>
      environmentOf({ gpus }, { gpuEnv, env: { CUDA_VISIBLE_DEVICES: '0,1,2,3' } }).env[
        'CUDA_VISIBLE_DEVICES'
      ];
    expect(visibleGpus([1, 2])).toBe('1,2');
    expect(visibleGpus(null)).toBe('all');
  });
});

/** A trainer that prints its arguments, environment, folder and config as one line of JSON. */
const inspectingTrainer = `console.log(JSON.stringify({
  argv: process.argv.slice(1), env: process.env, cwd: process.cwd(),
  config: JSON.parse(require('fs').readFileSync(process.env.CONFIG_PATH, 'utf8')),
}))`;

async function runInspectingTrainer(offer: Partial<JobOffer>): Promise<{
  readonly printed: {
    readonly argv: unknown;
    readonly env: Record<string, string>;
    readonly config: unknown;
  };
  readonly folder: string;
}> {
  const folder = tempFolder();
  const trainer = {
    kind: 'command',
    argv: [process.execPath, '-e', inspectingTrainer, '{config_path}'],
    takesAll: true,
  } as const;
  const prepared = prepareJob(offerOf('j1', 'a1', offer), rigOf(folder, { trainers: [trainer] }));
  if (!prepared.ok) throw new Error(prepared.message);
  const { exit } = await runToEnd(prepared.job);
  expect(exit).toMatchObject({ code: 0 });
  return { printed: JSON.parse(readFileSync(prepared.job.logFile, 'utf8')), folder };
}

describe('data of the orchestrator (docs/internals/faults.md S11)', () => {
  const hostile = {
    LD_PRELOAD: '/tmp/evil.so',
    PATH: '/tmp/evil',
    NODE_OPTIONS: '--require /tmp/evil.js',
    env: { LD_PRELOAD: '/tmp/evil.so' },
    model: '$(touch touched)',
    lines: 'a\nb; touch touched\r\n`touch touched`',
    '"; touch touched; "': '\0\u001b]0;title\u0007',
    placeholder: '{config_path} {output_dir}',
    '--data_backend_config': '/etc/passwd',
  };

  it('never runs config values as code', async () => {
    const { printed, folder } = await runInspectingTrainer({
      config: hostile,
      config_name: '$(touch touched)',
      dataloader: { LD_PRELOAD: '/tmp/evil.so', path: '`touch touched`' },
      hf_token: '$(touch touched)\nLD_PRELOAD=/tmp/evil.so',
      provider: '; touch touched',
    });
    expect(printed.config).toEqual(hostile);
    expect(printed.argv).toEqual([join(folder, 'j1/config.json')]);
    expect(printed.env).not.toHaveProperty('LD_PRELOAD');
    expect(printed.env).not.toHaveProperty('NODE_OPTIONS');
    expect(printed.env['PATH']).toBe(process.env['PATH']);
    expect(printed.env['HF_TOKEN']).toBe('$(touch touched)\nLD_PRELOAD=/tmp/evil.so');
    expect(new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['j1', 'j1/config.json', 'j1/dataloader.json', 'j1/output', 'j1/trainer.log']),
    );
    expect(existsSync('touched')).toBe(false);
  });

  it('ignores __proto__ keys of a config', () => {
    const text = '{"type":"ping","__proto__":{"polluted":1}}';
    expect(WorkerCommand.parse(JSON.parse(text))).toEqual({ type: 'ping' });
    const config = JSON.parse('{"__proto__":{"polluted":1},"trainer":"selftest"}') as JobOffer['config'];
    const { config: path } = environmentOf({ config }, {});
    expect(readFileSync(path, 'utf8')).toContain('"trainer": "selftest"');
    expect({}).not.toHaveProperty('polluted');
  });
});
