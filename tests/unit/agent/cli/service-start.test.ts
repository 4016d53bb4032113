import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../../../agent/config/index.ts';
import {
  findRunningWorker,
  findStartTrouble,
  serviceFolder,
  servicePath,
} from '../../../../agent/cli/service-start.ts';
import { createRunCommand } from '../../../../agent/gpu/probe.ts';
import { createProcesses } from '../../../../agent/process/own-processes.ts';
import { temporaryFolder } from '../../../support/processes.ts';

describe('servicePath', () => {
  it.each([
    ['unchanged from the caller', { PATH: '/usr/bin:/bin' }, '/usr/bin:/bin'],
    [
      'with the active venv first',
      { PATH: '/usr/bin', VIRTUAL_ENV: '/opt/st/.venv' },
      '/opt/st/.venv/bin:/usr/bin',
    ],
    [
      'with the active conda environment first',
      { PATH: '/usr/bin', CONDA_PREFIX: '/opt/c' },
      '/opt/c/bin:/usr/bin',
    ],
    ['with each folder once', { PATH: '/v/bin:/usr/bin:/v/bin', VIRTUAL_ENV: '/v' }, '/v/bin:/usr/bin'],
    ['without relative folders', { PATH: '.::bin:/usr/bin' }, '/usr/bin'],
    ['without line breaks', { PATH: '/usr/bin:/a\nExecStart=/bin/evil' }, '/usr/bin'],
    ['as null if the caller has none', {}, null],
  ])('returns the PATH of the service %s', (_title, env, path) => {
    expect(servicePath(env, 'linux')).toBe(path);
  });

  it('returns no PATH on Windows', () => {
    expect(servicePath({ PATH: String.raw`C:\x` }, 'win32')).toBeNull();
  });
});

describe('serviceFolder', () => {
  const folderWith = (...files: readonly string[]): string => {
    const folder = temporaryFolder();
    for (const file of files) writeFileSync(join(folder, file), 'x');
    return folder;
  };
  it.each<[string, readonly string[], readonly string[], boolean, 'own' | 'earlier']>([
    ['its own folder at first', [], [], false, 'own'],
    ['the folder in which the worker has joined', [], ['token', 'instance'], false, 'earlier'],
    ['its own folder again once the worker has joined there', ['token'], ['token'], false, 'own'],
    ['its own folder if no worker has joined in the other folder', ['instance'], ['instance'], false, 'own'],
    [
      'the folder in which the worker has joined, after a start without a token',
      ['instance'],
      ['token'],
      false,
      'earlier',
    ],
    ['the folder of a worker with its own token', [], ['instance'], true, 'earlier'],
    ['its own folder with a given token, if this folder is in use', ['instance'], ['token'], true, 'own'],
  ])('keeps the state of the service in %s', (_title, ownFiles, earlierFiles, hasGivenToken, expected) => {
    const folders = { own: folderWith(...ownFiles), earlier: folderWith(...earlierFiles) };
    expect(serviceFolder(folders.own, folders.earlier, hasGivenToken)).toBe(folders[expected]);
  });
});

describe('findStartTrouble', () => {
  const bin = temporaryFolder();
  writeFileSync(join(bin, 'python3'), '#!/bin/sh\n');
  chmodSync(join(bin, 'python3'), 0o755);
  const joined = temporaryFolder();
  writeFileSync(
    join(joined, 'token'),
    JSON.stringify({ joined: { join_sha256: 'a'.repeat(64), token: `wt_${'x'.repeat(43)}` }, pending: null }),
  );
  const findTrouble = (
    flags: Readonly<Record<string, unknown>>,
    folder = joined,
    path: string | null = bin,
  ) => {
    const config = loadAgentConfig({ 'orchestrator-url': 'http://yard:8001', name: 'rig-1', ...flags }, {});
    if (!config.ok) throw new Error(config.message);
    const trainerTexts = [flags['trainer'] ?? []].flat().map(String);
    return findStartTrouble({ config: config.value, trainerTexts, folder, path, env: {} });
  };

  it('finds no trouble with a stored token and a Python on the PATH', async () => {
    expect(await findTrouble({})).toBeNull();
  });

  it('reports a missing token', async () => {
    expect(await findTrouble({}, temporaryFolder())).toMatch(
      /^The worker rig-1 has not joined yet: .* Give a join token/,
    );
  });

  it('reports a token that cannot be read', async () => {
    const damaged = temporaryFolder();
    writeFileSync(join(damaged, 'token'), '{');
    expect(await findTrouble({}, damaged)).toContain('is damaged');
    expect(await findTrouble({ 'worker-token-file': '/nowhere/token' })).toContain('could not be read');
  });

  it('accepts a given join token', async () => {
    expect(await findTrouble({ 'worker-token': `tj_${'x'.repeat(43)}` }, temporaryFolder())).toBeNull();
  });

  it.each<[string, Readonly<Record<string, unknown>>, string | null]>([
    ['no Python on its PATH', {}, temporaryFolder()],
    ['no PATH at all', {}, null],
    ['a trainer that is not installed', { trainer: ['/nowhere/train {config_path}'] }, bin],
  ])('reports %s as the reason that the service cannot start', async (_title, flags, path) => {
    expect(await findTrouble(flags, joined, path)).toContain('No trainer found');
  });

  it.each([
    'simpletuner=venv',
    'kohya=./sd-scripts',
    'command=./run {config_path}',
    "'./my run' x",
    'node_modules/.bin/vitest {config_path}',
  ])('rejects a trainer with a relative path: %s', async text => {
    expect(await findTrouble({ trainer: [text] })).toBe(
      `Give --trainer ${text} with an absolute path, because a service starts in another folder`,
    );
  });

  it.each([
    'simpletuner',
    'node train.ts',
    '/opt/x/run {config_path}',
    'simpletuner=/opt/st',
    "'/o p/run' x",
    'command=python train.py',
  ])('accepts a trainer without a relative path: %s', async text => {
    expect((await findTrouble({ trainer: [text] })) ?? '').not.toContain('Give --trainer');
  });
});

it('finds the worker that uses a state folder, unless this worker has ended', async () => {
  const processes = createProcesses({
    platform: process.platform,
    run: createRunCommand({ environment: process.env }),
  });
  const folder = temporaryFolder();
  expect(await findRunningWorker(folder, processes)).toBeNull();
  const self = await processes.identify(process.pid);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'lock'), JSON.stringify(self));
  expect(await findRunningWorker(folder, processes)).toBe(process.pid);
  writeFileSync(join(folder, 'lock'), JSON.stringify({ ...self, start: 'earlier' }));
  expect(await findRunningWorker(folder, processes)).toBeNull();
});
