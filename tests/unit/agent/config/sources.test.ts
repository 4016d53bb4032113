import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../../agent/config/index.ts';
import {
  loadConfig,
  loadValidConfig,
  minimalFlags,
  configError,
  tempFolder,
  writeFile,
} from '../builders.ts';

/** Loads the settings with a config file. */
function loadWithFile(file: object, flags: object, env: Readonly<Record<string, string>> = {}): AgentConfig {
  const home = tempFolder();
  const config = writeFile(home, 'config.json', JSON.stringify(file));
  return loadValidConfig({ ...flags, config }, { XDG_CONFIG_HOME: home, ...env });
}

/** An option, its value in each source, and the setting that the worker reads from that source. */
type OptionCase = readonly [
  name: string,
  variable: string,
  read: (config: AgentConfig) => unknown,
  values: readonly [flag: unknown, env: string, file: unknown],
  expected: readonly [flag: unknown, env: unknown, file: unknown],
];

const optionsWithVariable: readonly OptionCase[] = [
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
    [
      { kind: 'value', token: 'wt_flag' },
      { kind: 'value', token: 'wt_env' },
      { kind: 'value', token: 'wt_file' },
    ],
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

describe.each(optionsWithVariable)('option %s (%s)', (name, variable, read, [flag, env, file], expected) => {
  const { [name]: _omitted, ...otherFlags } = minimalFlags as Record<string, unknown>;

  it('prefers the flag over the environment and the file', () => {
    expect(
      read(loadWithFile({ [name]: file }, { ...otherFlags, [name]: flag }, { [variable]: env })),
    ).toEqual(expected[0]);
  });

  it('prefers the environment over the file', () => {
    expect(read(loadWithFile({ [name]: file }, otherFlags, { [variable]: env }))).toEqual(expected[1]);
  });

  it('reads the file when the variable is empty', () => {
    expect(read(loadWithFile({ [name]: file }, otherFlags, { [variable]: '' }))).toEqual(expected[2]);
  });
});

it('names the worker after its host and makes the worker ephemeral by default', () => {
  expect(loadWithFile({}, minimalFlags)).toMatchObject({ name: hostname(), persistent: false });
});

it('reads each option from the first source that contains the option', () => {
  const config = loadWithFile(
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

describe('options without a variable', () => {
  const read = (config: AgentConfig): Partial<AgentConfig> => ({
    verbose: config.verbose,
    labels: config.labels,
    gpus: config.gpus,
    workDir: config.workDir,
    trainers: config.trainers,
    selftest: config.selftest,
    upload: config.upload,
    trust: config.trust,
  });
  const file = {
    verbose: true,
    label: { team: 'file' },
    gpus: '2',
    'work-dir': '/file',
    trainer: 'train-file',
    selftest: false,
    upload: 'none',
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
    upload: 'none' as const,
    trust: { pins: [], caFile: '/file.pem', verify: false },
  };

  it('uses default values for all options without a variable', () => {
    const config = loadValidConfig(minimalFlags);
    expect(read(config)).toEqual({
      verbose: false,
      labels: {},
      gpus: null,
      workDir: join(config.stateDir, 'jobs'),
      trainers: [{ kind: 'package', name: 'simpletuner', python: null }],
      selftest: true,
      upload: 'all',
      trust: { pins: [], caFile: null, verify: true },
    });
  });

  it('reads options from the config file by the names of their flags', () => {
    expect(read(loadWithFile(file, minimalFlags))).toEqual(fromFile);
  });

  it.each<[string, unknown, Partial<AgentConfig>]>([
    ['label', ['team=flag'], { labels: { team: 'flag' } }],
    ['gpus', '0', { gpus: [0] }],
    ['work-dir', '/flag', { workDir: '/flag' }],
    ['trainer', 'train-flag', { trainers: [{ kind: 'command', argv: ['train-flag'], takesAll: true }] }],
    ['ca-file', '/flag.pem', { trust: { pins: [], caFile: '/flag.pem', verify: false } }],
  ])('prefers the flag --%s over the file, without affecting other options', (name, value, expected) => {
    expect(read(loadWithFile(file, { ...minimalFlags, [name]: value }))).toEqual({
      ...fromFile,
      ...expected,
    });
  });
});

describe('config file', () => {
  it('accepts a missing config file at the default path', () => {
    expect(loadConfig(minimalFlags).ok).toBe(true);
  });

  it('reads the config file at the default path', () => {
    const home = tempFolder();
    mkdirSync(join(home, 'trainyard'));
    writeFile(join(home, 'trainyard'), 'config.json', JSON.stringify(minimalFlags));
    expect(loadValidConfig({}, { XDG_CONFIG_HOME: home }).token).toEqual({
      kind: 'value',
      token: 'wt_secret',
    });
  });

  it('rejects the settings when the config file at the default path is unreadable', () => {
    const home = tempFolder();
    mkdirSync(join(home, 'trainyard', 'config.json'), { recursive: true });
    expect(configError(minimalFlags, { XDG_CONFIG_HOME: home })).toMatch(
      /^The config file could not be read: EISDIR/,
    );
  });

  it.each([
    ['invalid JSON', '{"name": ', 'is not valid JSON'],
    ['a list', '[]', 'must contain a JSON object'],
    ['a word', '"persistent"', 'must contain a JSON object'],
    ['null', 'null', 'must contain a JSON object'],
  ])('names the config file in the error when the file contains %s', (_title, text, expected) => {
    const config = writeFile(tempFolder(), 'broken.json', text);
    const message = configError({ ...minimalFlags, config });
    expect(message).toContain(config);
    expect(message).toContain(expected);
  });

  it('rejects the settings when the file of --config is missing', () => {
    const config = join(tempFolder(), 'none.json');
    expect(configError({ ...minimalFlags, config })).toMatch(
      /^The config file could not be read: ENOENT.*none\.json.*Check --config$/,
    );
  });
});
