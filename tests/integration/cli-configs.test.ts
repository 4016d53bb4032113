/** `trainyard configs` against a real server: its output and exit codes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
const here = temporaryFolder();
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const configs = (argv: readonly string[], options?: Parameters<typeof runTrainyard>[1]) =>
  runTrainyard(['configs', ...argv, '--data-dir', server.dataDir], options);

function file(name: string, text: string): string {
  const path = join(here, name);
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
    const made = await configs(['put', 'my lora', path]);
    expect(made).toMatchObject({ code: 0, out: 'Created  my lora\nFile     my lora.json\n', err: '' });
    const again = await configs(['put', 'my lora', path]);
    expect(again).toMatchObject({ code: 5, out: '' });
    expect(again.err).toContain('There is a config my lora already');
    writeFileSync(path, '{"model_family": "sdxl", "data_backend_config": "none.json"}');
    const lacking = await configs(['put', 'my lora', path, '--replace']);
    expect(lacking).toMatchObject({ code: 2, out: '' });
    expect(lacking.err).toContain(
      'names none.json (data_backend_config), but the file is not in the current folder',
    );
    const alone = ['--replace', '--config-only'];
    const replaced = await configs(['put', 'my lora', path, ...alone, '-o', 'name,created']);
    expect(replaced).toMatchObject({ code: 0, out: 'my lora\tfalse\n' });
    expect(replaced.err).toContain(
      'names none.json (data_backend_config), but no file none.json lies beside the config',
    );
    const shown = await configs(['get', 'my lora']);
    expect(JSON.parse(shown.out)).toEqual(JSON.parse(readFileSync(path, 'utf8')));
    expect((await configs(['get', 'my lora', '-o', 'model_family'])).out).toBe('sdxl\n');
    const listed = await configs(['list']);
    expect(listed.out).toMatch(/^NAME +MODEL +GPUS +CHANGED +FILE +PROBLEM\nmy lora +sdxl +1 +\d{4}-/);
    const kept = await configs(['delete', 'my lora'], { answer: 'n' });
    expect([kept.code, kept.questions]).toEqual([
      1,
      ['Delete config my lora? No new jobs can use it. [y/N] '],
    ]);
    expect(await configs(['delete', 'my lora', '--yes'])).toMatchObject({ code: 0 });
    expect(await configs(['get', 'my lora'])).toMatchObject({ code: 4, out: '' });
  });

  test('stores a config together with the files it names, so that jobs can use it', async () => {
    mkdirSync(join(here, 'st/config/flux'), { recursive: true });
    const path = file(
      'st/config/flux/config.json',
      '{"model_family": "flux", "data_backend_config": "config/flux/data.json"}',
    );
    file('st/config/flux/data.json', '[{"id": "text", "type": "local"}]');
    const made = await configs(['put', 'with-data', path]);
    expect(made).toMatchObject({
      code: 0,
      out: 'Created    with-data\nFile       with-data/config.json\nAlso sent  config/flux/data.json\n',
      err: '',
    });
    expect(readFileSync(join(server.dataDir, 'configs/with-data/data.json'), 'utf8')).toBe(
      '[{"id": "text", "type": "local"}]',
    );
    const dry = await runTrainyard([
      'jobs',
      'submit',
      'with-data',
      '--dry-run',
      '--data-dir',
      server.dataDir,
    ]);
    expect(dry.code).toBe(0);
    expect(await configs(['delete', 'with-data', '--yes'])).toMatchObject({ code: 0 });
  });

  test('stores a config from standard input, in any format', async () => {
    for (const input of ['{"steps": 3}', '# a comment\nsteps: 3\n', 'steps = 3\n']) {
      const made = await configs(['put', 'piped', '-', '--replace'], { input });
      expect(made).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse((await configs(['get', 'piped'])).out)).toEqual({ steps: 3 });
    }
    expect(await configs(['delete', 'piped', '--yes'])).toMatchObject({ code: 0 });
  });

  test('reports standard input without a config', async () => {
    const atTerminal = await configs(['put', 'piped', '-']);
    expect(atTerminal).toMatchObject({ code: 2, out: '' });
    expect(atTerminal.err).toContain('reads the config from standard input, but that is the terminal');
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
    const some = await configs(['list', '-o', 'name']);
    expect([some.out.trim().split('\n').length, some.err]).toEqual([
      100,
      'Not all results are shown. To list all, use --all\n',
    ]);
    expect((await configs(['list', '--all', '-o', 'name'])).out.trim().split('\n')).toHaveLength(121);
    expect((await configs(['list', '--search', 'OTH', '-o', 'name'])).out).toBe('other\n');
  });

  test.each([
    ['a file that does not exist', ['put', 'x', join(here, 'none.json')], 2, /cannot be read/],
    ['a file with invalid JSON', ['put', 'x', file('bad.json', '{')], 2, /is not valid JSON/],
    ['a file that holds a list', ['put', 'x', file('list.json', '[]')], 2, /is not an object/],
    ['a missing name', ['get', '.'], 2, /give the name of a config/],
    ['a name that is a parent folder', ['delete', '..', '--yes'], 2, /give the name of a config/],
    ['a name that leaves the folder', ['get', '../secret'], 7, /without "\.\." and hidden names/],
    ['an unknown config', ['delete', 'none', '--yes'], 4, /There is no config none/],
  ])('reports %s', async (_what, argv, code, says) => {
    const { code: ended, out, err } = await configs(argv);
    expect([ended, out]).toEqual([code, '']);
    expect(err).toMatch(says);
  });

  test('completes config names', async () => {
    server.config('flux-lora', {});
    const completed = async (...words: readonly string[]): Promise<readonly string[]> =>
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
    expect(await completed('configs', 'get', 'flux')).toEqual(['flux-lora', ':']);
    expect(await completed('jobs', 'submit', 'flux')).toEqual(['flux-lora', ':file']);
    expect(await completed('configs', 'put', 'new', '')).toEqual([':file']);
  });
});
