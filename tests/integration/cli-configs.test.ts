/** `trainyard configs` against a real server: its output and exit codes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
const localFolder = temporaryFolder();
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const configs = (argv: readonly string[], options?: Parameters<typeof runTrainyard>[1]) =>
  runTrainyard(['configs', ...argv, '--data-dir', server.dataDir], options);

function file(name: string, text: string): string {
  const path = join(localFolder, name);
  writeFileSync(path, text);
  return path;
}

describe('trainyard configs', () => {
  test('names the configs folder when there are no configs', async () => {
    const { code, out, err } = await configs(['list']);
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain(`save NAME.json in ${join(server.dataDir, 'configs')}`);
  });

  test('stores, replaces, shows and deletes a config', async () => {
    const path = file('lora.json', '\ufeff{"model_family": "flux", "num_processes": 2}');
    const created = await configs(['put', 'my lora', path]);
    expect(created).toMatchObject({ code: 0, out: 'Created  my lora\nFile     my lora.json\n', err: '' });
    const secondPut = await configs(['put', 'my lora', path]);
    expect(secondPut).toMatchObject({ code: 5, out: '' });
    expect(secondPut.err).toContain('There is a config my lora already');
    writeFileSync(path, '{"model_family": "sdxl", "data_backend_config": "none.json"}');
    const missingFilePut = await configs(['put', 'my lora', path, '--replace']);
    expect(missingFilePut).toMatchObject({ code: 2, out: '' });
    expect(missingFilePut.err).toContain(
      'names none.json (data_backend_config), but the file is not in the current folder',
    );
    const configOnlyFlags = ['--replace', '--config-only'];
    const replaced = await configs(['put', 'my lora', path, ...configOnlyFlags, '-o', 'name,created']);
    expect(replaced).toMatchObject({ code: 0, out: 'my lora\tfalse\n' });
    expect(replaced.err).toContain(
      'names none.json (data_backend_config), but no file none.json lies beside the config',
    );
    const configText = await configs(['get', 'my lora']);
    expect(JSON.parse(configText.out)).toEqual(JSON.parse(readFileSync(path, 'utf8')));
    expect((await configs(['get', 'my lora', '-o', 'model_family'])).out).toBe('sdxl\n');
    const configList = await configs(['list']);
    expect(configList.out).toMatch(/^NAME +MODEL +GPUS +CHANGED +FILE +PROBLEM\nmy lora +sdxl +1 +\d{4}-/);
    const declined = await configs(['delete', 'my lora'], { answer: 'n' });
    expect([declined.code, declined.questions]).toEqual([
      1,
      ['Delete config my lora? No new jobs can use it. [y/N] '],
    ]);
    expect(await configs(['delete', 'my lora', '--yes'])).toMatchObject({ code: 0 });
    expect(await configs(['get', 'my lora'])).toMatchObject({ code: 4, out: '' });
  });

  test('stores a config together with its files, so that jobs can use the config', async () => {
    mkdirSync(join(localFolder, 'st/config/flux'), { recursive: true });
    const path = file(
      'st/config/flux/config.json',
      '{"model_family": "flux", "data_backend_config": "config/flux/data.json"}',
    );
    file('st/config/flux/data.json', '[{"id": "text", "type": "local"}]');
    const stored = await configs(['put', 'with-data', path]);
    expect(stored).toMatchObject({
      code: 0,
      out: 'Created    with-data\nFile       with-data/config.json\nAlso sent  config/flux/data.json\n',
      err: '',
    });
    expect(readFileSync(join(server.dataDir, 'configs/with-data/data.json'), 'utf8')).toBe(
      '[{"id": "text", "type": "local"}]',
    );
    const dryRun = await runTrainyard([
      'jobs',
      'submit',
      'with-data',
      '--dry-run',
      '--data-dir',
      server.dataDir,
    ]);
    expect(dryRun.code).toBe(0);
    expect(await configs(['delete', 'with-data', '--yes'])).toMatchObject({ code: 0 });
  });

  test('stores a config from standard input, in any format', async () => {
    for (const input of ['{"steps": 3}', '# a comment\nsteps: 3\n', 'steps = 3\n']) {
      const putRun = await configs(['put', 'piped', '-', '--replace'], { input });
      expect(putRun).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse((await configs(['get', 'piped'])).out)).toEqual({ steps: 3 });
    }
    expect(await configs(['delete', 'piped', '--yes'])).toMatchObject({ code: 0 });
  });

  test('reports a terminal, empty text and an invalid config on standard input', async () => {
    const terminalRun = await configs(['put', 'piped', '-']);
    expect(terminalRun).toMatchObject({ code: 2, out: '' });
    expect(terminalRun.err).toContain('reads the config from standard input, but that is the terminal');
    const empty = await configs(['put', 'piped', '-'], { input: ' \n' });
    expect(empty).toMatchObject({ code: 2, err: 'Standard input is empty: it must be a config\n' });
    const broken = await configs(['put', 'piped', '-'], { input: '{"steps": ' });
    expect(broken).toMatchObject({ code: 2, out: '' });
    expect(broken.err).toContain('Standard input is not valid JSON');
    const missing = await configs(['put', 'piped', '-'], {
      input: '{"model_family": "flux", "data_backend_config": "none.json"}',
    });
    expect(missing).toMatchObject({ code: 2, out: '' });
    expect(missing.err).toContain('Standard input names none.json (data_backend_config)');
  });

  test('lists 100 configs at most without --all, and filters them with --search', async () => {
    for (let n = 0; n < 120; n += 1) server.config(`run-${n}`, {});
    server.config('other', {});
    const page = await configs(['list', '-o', 'name']);
    expect([page.out.trim().split('\n').length, page.err]).toEqual([
      100,
      'Not all results are shown. To list all, use --all\n',
    ]);
    expect((await configs(['list', '--all', '-o', 'name'])).out.trim().split('\n')).toHaveLength(121);
    expect((await configs(['list', '--search', 'OTH', '-o', 'name'])).out).toBe('other\n');
  });

  test.each([
    ['a file that does not exist', ['put', 'x', join(localFolder, 'none.json')], 2, /cannot be read/],
    ['a file with invalid JSON', ['put', 'x', file('bad.json', '{')], 2, /is not valid JSON/],
    ['a file that holds a list', ['put', 'x', file('list.json', '[]')], 2, /is not an object/],
    ['a missing name', ['get', '.'], 2, /give the name of a config/],
    ['a name that is a parent folder', ['delete', '..', '--yes'], 2, /give the name of a config/],
    ['a name that leaves the folder', ['get', '../secret'], 7, /without "\.\." and hidden names/],
    ['an unknown config', ['delete', 'none', '--yes'], 4, /There is no config none/],
  ])('exits with a reason for %s in trainyard configs', async (_what, argv, code, message) => {
    const { code: exitCode, out, err } = await configs(argv);
    expect([exitCode, out]).toEqual([code, '']);
    expect(err).toMatch(message);
  });

  test('completes config names', async () => {
    server.config('flux-lora', {});
    const completeWords = async (...words: readonly string[]): Promise<readonly string[]> =>
      (
        await runTrainyard([
          '__complete',
          'zsh',
          ...words.slice(0, -1),
          '--data-dir',
          server.dataDir,
          words.at(-1) ?? '',
        ])
      ).out
        .trimEnd()
        .split('\n')
        .map(line => line.split('\t')[0] ?? '');
    expect(await completeWords('configs', 'get', 'flux')).toEqual(['flux-lora', ':']);
    expect(await completeWords('jobs', 'submit', 'flux')).toEqual(['flux-lora', ':file']);
    expect(await completeWords('configs', 'put', 'new', '')).toEqual([':file']);
  });
});
