import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSample } from '../../../../agent/simulated/sample.ts';
import { prepareJob, trainerProbe } from '../../../../agent/attempt/trainer.ts';
import type { PreparedJob } from '../../../../agent/job.ts';
import { offerOf, rigOf, tempFolder, writeFile } from '../builders.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

function prepare(...args: Parameters<typeof prepareJob>): PreparedJob {
  const result = prepareJob(...args);
  if (!result.ok) throw new Error(result.message);
  return result.job;
}

/** A folder with executable programs of these names. */
const binWith = (...names: readonly string[]): string => {
  const folder = tempFolder();
  for (const name of names) writeFile(folder, name, '#!/bin/sh\n', 0o755);
  return folder;
};
const simpletuner = { kind: 'package', name: 'simpletuner', python: null } as const;

describe('job folder', () => {
  it('writes config and dataloader with private modes into the job folder', () => {
    const workDir = join(tempFolder(), 'new', 'jobs');
    const config = { model: 'x', nested: { a: [1, null, 'ü'] } };
    const dataloader = [{ id: 'images', type: 'local' }];
    const { folder, cwd } = prepare(offerOf('j1', 'a1', { config, dataloader }), rigOf(workDir));
    expect(cwd).toBe(rigOf(workDir).cwd);
    expect(folder).toBe(join(workDir, 'j1'));
    expect(readJson(join(folder, 'config.json'))).toEqual(config);
    expect(readJson(join(folder, 'dataloader.json'))).toEqual(dataloader);
    expect([workDir, folder, join(folder, 'output')].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
    expect([join(folder, 'config.json'), join(folder, 'dataloader.json')].map(modeOf)).toEqual([
      0o600, 0o600,
    ]);
  });

  it('keeps the outputs of an earlier attempt, and replaces its config', () => {
    const rig = rigOf(tempFolder());
    const first = prepare(offerOf('j1', 'a1', { config: { n: 1 }, dataloader: {} }), rig);
    writeFile(first.outputDir, 'checkpoint', 'weights');
    const second = prepare(offerOf('j1', 'a2', { config: { n: 2 } }), rig);
    expect(second.outputDir).toBe(first.outputDir);
    expect(readFileSync(join(second.outputDir, 'checkpoint'), 'utf8')).toBe('weights');
    expect(readJson(join(second.folder, 'config.json'))).toEqual({ n: 2 });
    expect(existsSync(join(second.folder, 'dataloader.json'))).toBe(false);
  });

  it("uses one log file for all attempts, unless another attempt's log is still needed", () => {
    const rig = rigOf(tempFolder());
    const neededFiles = new Set<string>();
    const logOf = (attempt: string): string => {
      const { logFile, folder } = prepare(offerOf('j1', attempt), rig, file => neededFiles.has(file));
      // A rotated log has a second file with the older output.
      for (const name of [logFile, `${logFile}.1`]) writeFile(folder, basename(name), 'x');
      return basename(logFile);
    };
    const folder = join(rig.workDir, 'j1');
    const logs = (): readonly string[] => readdirSync(folder).filter(name => name.includes('.log'));
    expect([logOf('a1'), logOf('a2')]).toEqual(['trainer.log', 'trainer.log']);
    neededFiles.add(join(folder, 'trainer.log'));
    expect(logOf('a3')).toBe('trainer-a3.log');
    neededFiles.add(join(folder, 'trainer-a3.log'));
    expect(logOf('a4')).toBe('trainer-a4.log');
    neededFiles.clear();
    neededFiles.add(join(folder, 'trainer-a4.log'));
    expect(logOf('a5')).toBe('trainer.log');
    // The log of the third attempt is no longer needed.
    expect(logs()).toEqual(['trainer-a4.log', 'trainer-a4.log.1', 'trainer.log', 'trainer.log.1']);
  });

  it('throws when the job folder cannot be created', () => {
    const file = writeFile(tempFolder(), 'file', '');
    expect(() => prepareJob(offerOf('j1', 'a1'), rigOf(file))).toThrow('ENOTDIR');
  });
});

describe('dataloader', () => {
  const dataloader = [{ id: 'images' }];
  const writeJob = (config: Record<string, unknown>, rig: Parameters<typeof rigOf>[1], data: unknown) => {
    const { folder } = prepare(offerOf('j1', 'a1', { config, dataloader: data }), rigOf(tempFolder(), rig));
    return { path: join(folder, 'dataloader.json'), config: readJson(join(folder, 'config.json')) };
  };

  it.each<[string, Record<string, unknown>, string]>([
    ['when the config names none', { a: 1 }, 'data_backend_config'],
    [
      'in place of the dataloader that the config names',
      { a: 1, data_backend_config: 'other.json' },
      'data_backend_config',
    ],
    [
      'in place of the dataloader that a flag in the config names',
      { a: 1, '--data_backend_config': 'other.json' },
      '--data_backend_config',
    ],
  ])('passes the dataloader to SimpleTuner %s', (_title, original, key) => {
    const { path, config } = writeJob(original, { trainers: [simpletuner] }, dataloader);
    expect(config).toEqual({ a: 1, output_dir: join(path, '../output'), [key]: path });
  });

  it.each([null, undefined])('does not set data_backend_config when the dataloader is %j', data => {
    const original = { data_backend_config: 'own.json' };
    const { path, config } = writeJob(original, { trainers: [simpletuner] }, data);
    expect(config).toEqual({ ...original, output_dir: join(path, '../output') });
  });

  it('leaves the config of another trainer unchanged', () => {
    expect(writeJob({ a: 1 }, {}, dataloader).config).toEqual({ a: 1 });
  });
});

describe('$requests of a config', () => {
  const config = { a: 1, $requests: { save: { signal: 'SIGUSR1' } } };
  const writeConfig = (
    workDir: string,
    original: Record<string, unknown>,
    rig: Parameters<typeof rigOf>[1],
  ) => prepare(offerOf('j1', 'a1', { config: original }), rigOf(workDir, rig)).folder;

  it("stores $requests in a separate file, because SimpleTuner's config accepts only SimpleTuner's options", () => {
    const folder = writeConfig(tempFolder(), config, { trainers: [simpletuner] });
    expect(readJson(join(folder, 'config.json'))).toEqual({ a: 1, output_dir: join(folder, 'output') });
    expect(readJson(join(folder, 'requests.json'))).toEqual({
      $requests: config.$requests,
      trainer: 'simpletuner',
    });
  });

  it("keeps $requests in other trainers' configs, and removes requests.json for an attempt without $requests", () => {
    const workDir = tempFolder();
    const folder = writeConfig(workDir, config, {});
    expect(readJson(join(folder, 'config.json'))).toMatchObject(config);
    expect(existsSync(join(folder, 'requests.json'))).toBe(true);
    writeConfig(workDir, { a: 1 }, {});
    expect(existsSync(join(folder, 'requests.json'))).toBe(false);
  });
});

describe('resume checkpoint', () => {
  const resume = { checkpoint: 'run/checkpoint-500', step: 500 };
  const prepareResumed = (offer: Parameters<typeof offerOf>[2], rig: Parameters<typeof rigOf>[1]) => {
    const job = prepare(offerOf('j1', 'a1', offer), rigOf(tempFolder(), rig));
    return {
      ...job,
      path: join(job.outputDir, 'run', 'checkpoint-500'),
      config: readJson(join(job.folder, 'config.json')),
    };
  };

  it("passes the resume checkpoint to a command, and to every trainer's environment", () => {
    const rig = {
      trainers: [{ kind: 'command', argv: ['train', '--resume={resume_from}'], takesAll: true }],
    } as const;
    const { argv, env, path, config } = prepareResumed({ resume, config: { a: 1 } }, rig);
    expect([argv[1], env['TRAINYARD_RESUME_FROM'], config]).toEqual([`--resume=${path}`, path, { a: 1 }]);
    expect(prepareResumed({}, rig).env['TRAINYARD_RESUME_FROM']).toBe('');
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['without the option', { a: 1 }, 'resume_from_checkpoint'],
    ['with the option "latest"', { a: 1, resume_from_checkpoint: 'latest' }, 'resume_from_checkpoint'],
    ['with the flag "latest"', { a: 1, '--resume_from_checkpoint': 'latest' }, '--resume_from_checkpoint'],
  ])('passes the resume checkpoint to SimpleTuner in a config %s', (_title, original, key) => {
    const { config, path, outputDir } = prepareResumed(
      { resume, config: original },
      { trainers: [simpletuner] },
    );
    expect(config).toEqual({ a: 1, output_dir: outputDir, [key]: path });
  });

  it("omits the resume checkpoint when SimpleTuner's config has its own output folder", () => {
    const config = { '--output_dir': '/own', resume_from_checkpoint: 'latest' };
    const rig = { trainers: [simpletuner], allowedConfigKeys: ['output_dir'] };
    expect(prepareResumed({ resume, config }, rig).config).toEqual(config);
  });

  it.each([
    [{ resume, config: { '--resume_from_checkpoint': '/own/checkpoint-1' } }],
    [{ resume: null, config: { resume_from_checkpoint: 'latest' } }],
  ])(
    'leaves resume_from_checkpoint unchanged when it names another checkpoint, or when the offer has no checkpoint: %j',
    offer => {
      const { config, outputDir } = prepareResumed(offer, { trainers: [simpletuner] });
      expect(config).toEqual({ ...offer.config, output_dir: outputDir });
    },
  );
});

describe('output folder of a config', () => {
  const configFor = (config: Record<string, unknown>, rig: Parameters<typeof rigOf>[1]) => {
    const { folder, outputDir } = prepare(offerOf('j1', 'a1', { config }), rigOf(tempFolder(), rig));
    return { config: readJson(join(folder, 'config.json')), outputDir };
  };

  it.each(['output_dir', '--output_dir', '--output-dir', 'output_d'])(
    'replaces a relative output folder at the key %s with the output folder of the job',
    key => {
      const { config, outputDir } = configFor({ [key]: 'output/models', a: 1 }, { trainers: [simpletuner] });
      expect(config).toEqual({ a: 1, output_dir: outputDir });
    },
  );

  it('keeps a relative output folder in the config of a trainer command', () => {
    expect(configFor({ output_dir: 'output/models' }, {}).config).toEqual({ output_dir: 'output/models' });
  });

  it.each(['/data/out', '../out', 'a/../../b', '~/out', 'C:\\out', '{env:HOME}/out'])(
    'rejects an output folder outside the job: %s',
    path => {
      const workDir = join(tempFolder(), 'jobs');
      const refused = prepareJob(
        offerOf('j1', 'a1', { config: { output_dir: path } }),
        rigOf(workDir, { trainers: [simpletuner] }),
      );
      expect(refused).toMatchObject({
        ok: false,
        cause: 'rejected',
        message: expect.stringMatching(
          /^Worker rig-1 does not allow .*"output_dir" \(writes outside the job's folder\)/,
        ),
      });
      expect(existsSync(workDir)).toBe(false);
    },
  );

  it('keeps an absolute output folder that the owner allows, and replaces a relative output folder', () => {
    const rig = { trainers: [simpletuner], allowedConfigKeys: ['output_dir'] };
    expect(configFor({ output_dir: '/data/out' }, rig).config).toEqual({ output_dir: '/data/out' });
    const { config, outputDir } = configFor({ output_dir: 'out' }, rig);
    expect(config).toEqual({ output_dir: outputDir });
  });
});

describe('configs that start programs', () => {
  const config = { post_checkpoint_script: '/opt/push.sh', webhook_config: { webhook_url: 'https://x' } };

  it('names each forbidden key, the rig and the flag in its refusal', () => {
    expect(prepareJob(offerOf('j1', 'a1', { config }), rigOf(tempFolder()))).toEqual({
      ok: false,
      cause: 'rejected',
      message:
        'Worker rig-1 does not allow this config to use "post_checkpoint_script" (starts a program on the rig), ' +
        '"webhook_config" (sends data from the rig to addresses in the config). The owner of the rig can allow it with ' +
        '--allow-config-scripts post_checkpoint_script,webhook_config',
    });
  });

  it('accepts a config only if the owner allows each restricted key of the config', () => {
    const rigWith = (...allowedConfigKeys: readonly string[]) => rigOf(tempFolder(), { allowedConfigKeys });
    const offer = offerOf('j1', 'a1', { config });
    expect(prepareJob(offer, rigWith('post_checkpoint_script'))).toMatchObject({ ok: false });
    expect(prepareJob(offer, rigWith('post_checkpoint_script', 'webhook_config')).ok).toBe(true);
  });

  it('rejects a dataloader with a restricted key', () => {
    const dataloader = [{ id: 'cache', type: 'memory', memory_filesystem_sudo: true }];
    const refused = prepareJob(offerOf('j1', 'a1', { config: {}, dataloader }), rigOf(tempFolder()));
    expect(refused).toMatchObject({
      ok: false,
      message: expect.stringContaining('"memory_filesystem_sudo"'),
    });
  });
});

describe('trainer command', () => {
  it('fills the placeholders of the trainer command, each path as one argument', () => {
    const workDir = join(tempFolder(), 'with space; $(touch x)');
    const argv = ['train', '--config={config_path}', '{output_dir}', '{resume_from}', '{other}'];
    const {
      argv: filled,
      folder,
      outputDir,
      logFile,
    } = prepare(
      offerOf('j1', 'a1'),
      rigOf(workDir, { trainers: [{ kind: 'command', argv, takesAll: true }] }),
    );
    expect(outputDir).toBe(join(folder, 'output'));
    expect(logFile).toBe(join(folder, 'trainer.log'));
    expect(filled).toEqual(['train', `--config=${join(folder, 'config.json')}`, outputDir, '', '{other}']);
  });

  it.each<[string, readonly string[], string]>([
    ['python', ['python', 'python3'], 'python'],
    ['python3 when there is no python', ['python3'], 'python3'],
  ])('starts SimpleTuner with %s', (_title, names, expected) => {
    const bin = binWith(...names);
    const rig = rigOf(tempFolder(), { trainers: [simpletuner], env: { PATH: bin } });
    expect(prepare(offerOf('j1', 'a1'), rig).argv).toEqual([join(bin, expected), '-m', 'simpletuner.train']);
  });

  it('ignores commands that the orchestrator sends', () => {
    const argv = ['train', '{config_path}'];
    const config = { trainer: 'command', command: 'rm', argv: ['rm'], '--trainer': 'rm' };
    const rig = rigOf(tempFolder(), { trainers: [{ kind: 'command', argv, takesAll: true }] });
    const { argv: filled, folder } = prepare(offerOf('j1', 'a1', { config, provider: '{config_path}' }), rig);
    expect(filled).toEqual(['train', join(folder, 'config.json')]);
  });
});

describe('self-test', () => {
  const offer = offerOf('j1', 'a1', { config: { trainer: 'selftest', seconds: 1 }, dataloader: {} });

  it.each([simpletuner, { kind: 'command', argv: ['train'], takesAll: true } as const])(
    'runs a self-test with the worker program, not with the trainer %j',
    trainer => {
      const rig = rigOf(tempFolder(), {
        trainers: [trainer],
        ownCommand: ['/opt/node', '/opt/worker.js', 'worker'],
      });
      const { argv, folder } = prepare(offer, rig);
      const path = join(folder, 'config.json');
      expect(argv).toEqual(['/opt/node', '/opt/worker.js', 'worker', 'selftest', '--config', path]);
      expect(readJson(path)).toEqual(offer.config);
    },
  );

  it('rejects a self-test when the rig forbids self-tests, and writes nothing', () => {
    const workDir = join(tempFolder(), 'jobs');
    expect(prepareJob(offer, rigOf(workDir, { selftest: false }))).toEqual({
      ok: false,
      cause: 'rejected',
      message: 'This rig runs no self-tests (--no-selftest)',
    });
    expect(existsSync(workDir)).toBe(false);
  });
});

describe('sample training', () => {
  const offer = offerOf('j1', 'a1', { config: { trainer: 'digits', epochs: 1 }, dataloader: {} });
  const sampleCommand = [
    '/opt/node',
    '/opt/train.ts',
    '--config',
    '{config_path}',
    '--output={output_dir}',
    '{resume_from}',
  ];

  it.each([simpletuner, { kind: 'command', argv: ['train'], takesAll: true } as const])(
    'runs the sample training with the command of the rig, not with the trainer %j',
    trainer => {
      const rig = rigOf(tempFolder(), { trainers: [trainer], sample: sampleCommand });
      const { argv, folder, outputDir } = prepare(offer, rig);
      const path = join(folder, 'config.json');
      expect(argv).toEqual(['/opt/node', '/opt/train.ts', '--config', path, `--output=${outputDir}`, '']);
      expect(readJson(path)).toEqual(offer.config);
    },
  );

  it.each([
    ['it is missing', { sample: null }, /not on this rig: it comes with the source code/],
    [
      'the rig forbids it',
      { sample: sampleCommand, selftest: false },
      /no sample training \(--no-selftest\)/,
    ],
  ])('rejects the sample training when %s, and writes nothing', (_title, rig, message) => {
    const workDir = join(tempFolder(), 'jobs');
    expect(prepareJob(offer, rigOf(workDir, rig))).toEqual({
      ok: false,
      cause: 'rejected',
      message: expect.stringMatching(message),
    });
    expect(existsSync(workDir)).toBe(false);
  });

  it('finds the sample training in a checkout', () => {
    const [node, program, ...options] = findSample() ?? [];
    expect(node).toBe(process.execPath);
    expect(existsSync(program ?? '')).toBe(true);
    expect(options).toEqual(
      expect.arrayContaining(['--config', '{config_path}', '--resume-from', '{resume_from}']),
    );
  });
});

describe('finding a program', () => {
  it('finds the first executable program on PATH', () => {
    const [first, second] = [tempFolder(), binWith('tool')];
    writeFile(first, 'tool', 'no program', 0o644);
    mkdirSync(join(first, 'other'));
    const PATH = `:${first}:/nowhere:${second}:${binWith('tool', 'other')}`;
    expect(trainerProbe({ PATH }).find('tool')).toBe(join(second, 'tool'));
    expect(trainerProbe({ PATH }).find('other')).not.toBe(join(first, 'other'));
    expect(trainerProbe({ PATH }).find('none')).toBeNull();
    expect(trainerProbe({}).find('tool')).toBeNull();
  });

  it('finds an executable program by its path, but no folder', () => {
    const bin = binWith('tool');
    expect(trainerProbe({}).find(join(bin, 'tool'))).toBe(join(bin, 'tool'));
    expect(trainerProbe({}).find(join(bin, 'none'))).toBeNull();
    expect(trainerProbe({}).find(bin)).toBeNull();
  });
});
