import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../agent/config.ts';
import { load, loaded, minimalFlags, refusal, tempFolder, writeFile } from './builders.ts';

/** Loads the settings with a config file. */
function loadedWith(file: object, flags: object, env: Readonly<Record<string, string>> = {}): AgentConfig {
  const home = tempFolder();
  const config = writeFile(home, 'config.json', JSON.stringify(file));
  return loaded({ ...flags, config }, { XDG_CONFIG_HOME: home, ...env });
}

type Row = readonly [
  name: string,
  variable: string,
  read: (config: AgentConfig) => unknown,
  given: readonly [flag: unknown, env: string, file: unknown],
  expected: readonly [flag: unknown, env: unknown, file: unknown],
];

const guide: readonly Row[] = [
  [
    'orchestrator-url',
    'SIMPLETUNER_ORCHESTRATOR_URL',
    config => config.orchestratorUrl,
    ['http://flag:1', 'http://env:2', 'http://file:3'],
    ['http://flag:1', 'http://env:2', 'http://file:3'],
  ],
  [
    'worker-token',
    'SIMPLETUNER_WORKER_TOKEN',
    config => config.token,
    ['wt_flag', 'wt_env', 'wt_file'],
    ['wt_flag', 'wt_env', 'wt_file'].map(token => ({ kind: 'value', token })) as [object, object, object],
  ],
  [
    'name',
    'SIMPLETUNER_WORKER_NAME',
    config => config.name,
    ['by-flag', 'by-env', 'by-file'],
    ['by-flag', 'by-env', 'by-file'],
  ],
  [
    'persistent',
    'SIMPLETUNER_WORKER_PERSISTENT',
    config => config.persistent,
    [true, 'false', true],
    [true, false, true],
  ],
];

describe.each(guide)('%s (%s)', (name, variable, read, [flag, env, file], expected) => {
  const { [name]: _other, ...rest } = minimalFlags as Record<string, unknown>;

  it('is taken from the flag, before all else', () => {
    expect(read(loadedWith({ [name]: file }, { ...rest, [name]: flag }, { [variable]: env }))).toEqual(
      expected[0],
    );
  });

  it('is taken from the environment before the file', () => {
    expect(read(loadedWith({ [name]: file }, rest, { [variable]: env }))).toEqual(expected[1]);
  });

  it('is taken from the file when a variable is set to nothing', () => {
    expect(read(loadedWith({ [name]: file }, rest, { [variable]: '' }))).toEqual(expected[2]);
  });
});

it('names the worker after its host, and leaves after one job, unless told otherwise', () => {
  expect(loadedWith({}, minimalFlags)).toMatchObject({ name: hostname(), persistent: false });
});

it('takes each value on its own', () => {
  const config = loadedWith(
    { name: 'by-file', 'worker-token': 'wt_file' },
    { 'orchestrator-url': 'http://flag:1' },
    { SIMPLETUNER_WORKER_TOKEN: 'wt_env', SIMPLETUNER_WORKER_PERSISTENT: 'true' },
  );
  expect(config).toMatchObject({
    orchestratorUrl: 'http://flag:1',
    token: { kind: 'value', token: 'wt_env' },
    name: 'by-file',
    persistent: true,
  });
});

describe('settings of ours alone', () => {
  const read = (config: AgentConfig): Partial<AgentConfig> => ({
    verbose: config.verbose,
    labels: config.labels,
    gpus: config.gpus,
    workDir: config.workDir,
    trainers: config.trainers,
    selftest: config.selftest,
    bring: config.bring,
    trust: config.trust,
  });
  const file = {
    verbose: true,
    label: { team: 'file' },
    gpus: '2',
    'work-dir': '/file',
    trainer: 'train-file',
    selftest: false,
    bring: 'none',
    'ca-file': '/file.pem',
    'ssl-no-verify': true,
  };
  const fromFile = {
    verbose: true,
    labels: { team: 'file' },
    gpus: [2],
    workDir: '/file',
    trainers: [{ kind: 'command', argv: ['train-file'], takesAll: true }],
    selftest: false,
    bring: 'none' as const,
    trust: { pins: [], caFile: '/file.pem', verify: false },
  };

  it('have defaults', () => {
    const config = loaded(minimalFlags);
    expect(read(config)).toEqual({
      verbose: false,
      labels: {},
      gpus: null,
      workDir: join(config.stateDir, 'jobs'),
      trainers: [{ kind: 'package', name: 'simpletuner', python: null }],
      selftest: true,
      bring: 'all',
      trust: { pins: [], caFile: null, verify: true },
    });
  });

  it('are taken from the file by the names of the flags', () => {
    expect(read(loadedWith(file, minimalFlags))).toEqual(fromFile);
  });

  it.each<[string, unknown, Partial<AgentConfig>]>([
    ['label', ['team=flag'], { labels: { team: 'flag' } }],
    ['gpus', '0', { gpus: [0] }],
    ['work-dir', '/flag', { workDir: '/flag' }],
    ['trainer', 'train-flag', { trainers: [{ kind: 'command', argv: ['train-flag'], takesAll: true }] }],
    ['ca-file', '/flag.pem', { trust: { pins: [], caFile: '/flag.pem', verify: false } }],
  ])('--%s goes before the file, alone', (name, value, expected) => {
    expect(read(loadedWith(file, { ...minimalFlags, [name]: value }))).toEqual({ ...fromFile, ...expected });
  });
});

describe('the config file', () => {
  it('may be missing in its default place', () => {
    expect(load(minimalFlags).ok).toBe(true);
  });

  it('is found in its default place', () => {
    const home = tempFolder();
    mkdirSync(join(home, 'trainyard'));
    writeFile(join(home, 'trainyard'), 'config.json', JSON.stringify(minimalFlags));
    expect(loaded({}, { XDG_CONFIG_HOME: home }).token).toEqual({ kind: 'value', token: 'wt_secret' });
  });

  it('in its default place that is there and can not be read is no reason to go on without it', () => {
    const home = tempFolder();
    mkdirSync(join(home, 'trainyard', 'config.json'), { recursive: true });
    expect(refusal(minimalFlags, { XDG_CONFIG_HOME: home })).toMatch(
      /^The settings could not be read: EISDIR/,
    );
  });

  it.each([
    ['no JSON', '{"name": ', 'is not valid JSON'],
    ['a list', '[]', 'must hold a JSON object'],
    ['a word', '"persistent"', 'must hold a JSON object'],
    ['null', 'null', 'must hold a JSON object'],
  ])('with %s in it is refused by name', (_what, text, expected) => {
    const config = writeFile(tempFolder(), 'broken.json', text);
    const message = refusal({ ...minimalFlags, config });
    expect(message).toContain(config);
    expect(message).toContain(expected);
  });

  it('that was named must be there', () => {
    const config = join(tempFolder(), 'none.json');
    expect(refusal({ ...minimalFlags, config })).toMatch(/^--config .*none\.json: ENOENT/);
  });
});
