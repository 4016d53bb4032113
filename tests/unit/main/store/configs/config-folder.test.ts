// See docs/internals/faults.md, S8, and docs/internals/worker-contract.md, section 1.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConfigChange, ExpectedConfig } from '../../../../../main/orchestrator/ports/index.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../support/fleet-outcome.ts';
import { createConfigFiles } from '../../../../../main/store/configs/config-files.ts';

type Files = Readonly<Record<string, unknown>>;

function write(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** Creates a configs folder beside files that must stay unreachable, and records the changes that are announced. */
function setUp(files: Files = {}) {
  const root = openFolder();
  const folder = join(root, 'configs');
  mkdirSync(folder);
  write(folder, files);
  write(root, { 'secret.json': { secret: true }, 'private/config.json': { secret: true } });
  const configs = createConfigFiles(folder);
  const announced: ConfigChange[] = [];
  const record = (change: ConfigChange): Promise<void> => {
    announced.push(change);
    return Promise.resolve();
  };
  return {
    root,
    folder,
    announced,
    configs,
    list: (text = '', after: string | null = null, limit = 100) => configs.list({ text, after, limit }),
    put: (name: string, config: Files = { lr: 1 }, expected: ExpectedConfig = 'anything') =>
      configs.put({ name, config, expected }, record),
    remove: (name: string, expected: ExpectedConfig = 'anything') =>
      configs.remove({ name, expected }, record),
    tagOf: async (name: string): Promise<string> => {
      const stored = await configs.find(name);
      return stored.ok ? String(stored.value.tag) : '';
    },
    read: (file: string): string => readFileSync(join(folder, file), 'utf8'),
  };
}

const makePipe = (path: string): unknown => execFileSync('sh', ['-c', 'mkfifo "$0"', path]);

type Fixture = ReturnType<typeof setUp>;

const namesIn = async (page: ReturnType<Fixture['list']>) => (await page).entries.map(({ name }) => name);

describe('listing configs', () => {
  test('lists configs in files and configs in folders, sorted by name', async () => {
    const { list } = setUp({
      'b.json': {},
      'a/config.json': {},
      'c.json': {},
      'c/config.json': { other: true },
      'a b.c.json': {},
      'größe.json': {},
      'broken.json': 'no',
      'text.json': '"text"',
    });
    const { entries, next } = await list();
    expect(entries.map(({ name, file }) => [name, file])).toEqual([
      ['a', 'a/config.json'],
      ['a b.c', 'a b.c.json'],
      ['b', 'b.json'],
      ['broken', 'broken.json'],
      ['c', 'c.json'],
      ['c/config.json', 'c/config.json'],
      ['größe', 'größe.json'],
      ['text', 'text.json'],
    ]);
    expect(next).toBeNull();
  });

  test('omits files that are not configs', async () => {
    const { root, folder, list } = setUp({
      'lora.json': {},
      'data.json': [{ id: 'images' }],
      'notes.txt': 'x',
      'images/a.png': 'x',
      '.hidden.json': {},
      'con.json': {},
      'a(1).json': {},
      'folder.json/x': '',
      'UPPER.JSON': {},
    });
    symlinkSync(join(root, 'secret.json'), join(folder, 'out.json'));
    symlinkSync(join(root, 'private'), join(folder, 'outside'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'broken-link.json'));
    symlinkSync(join(folder, 'lora.json'), join(folder, 'same.json'));
    makePipe(join(folder, 'pipe.json'));
    expect(await namesIn(list())).toEqual(['UPPER.JSON', 'a(1)', 'con', 'lora', 'same']);
  });

  test('lists the change time, size and errors of each config', async () => {
    const { folder, list } = setUp({
      'good.json': { data_backend_config: 'data.json' },
      'data.json': [],
      'lonely.json': { data_backend_config: 'none.json' },
      'large.json': `{"x": "${'x'.repeat(3_000_000)}"}`,
    });
    utimesSync(join(folder, 'good.json'), 1, Date.parse('2026-01-02T03:04:05Z') / 1000);
    const [good, large, lonely] = (await list()).entries;
    expect(good).toMatchObject({ bytes: 35, changedAt: Date.parse('2026-01-02T03:04:05Z') });
    expect(good).toMatchObject({ config: { ok: true }, bundle: { ok: true, value: { dataloader: [] } } });
    expect(large).toMatchObject({ config: { refusal: { code: 'config_invalid' } }, tag: null });
    expect(lonely).toMatchObject({
      config: { ok: true },
      bundle: { refusal: { code: 'config_invalid' } },
    });
  });

  test('accepts a config that starts with a byte order mark', async () => {
    const { list, configs } = setUp({ 'lora.json': '\ufeff{"lr": 1}' });
    expect((await list()).entries).toMatchObject([{ config: { value: { lr: 1 } } }]);
    expect(await configs.load('lora')).toMatchObject({ value: { config: { lr: 1 } } });
  });

  test('finds configs by part of their name in any case, and returns them in pages', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 45 }, (_, n) => [`Run-${String(n).padStart(2, '0')}.json`, {}]),
    );
    const { list } = setUp({ ...files, 'other.json': {}, 'run-folder/x': '' });
    const pages: string[][] = [];
    for (let after: string | null = null; ; ) {
      const { entries, next } = await list('rUn', after, 20);
      pages.push(entries.map(({ name }) => name));
      if (next === null) break;
      after = next;
    }
    expect(pages.map(page => page.length)).toEqual([20, 20, 5]);
    expect(new Set(pages.flat()).size).toBe(45);
    expect(await namesIn(list('run', null, 45))).toHaveLength(45);
    expect((await list('run', null, 45)).next).toBeNull();
  });

  test('returns an empty list when the configs folder does not exist', async () => {
    const configs = createConfigFiles(join(openFolder(), 'none'));
    expect(await configs.list({ text: '', after: null, limit: 5 })).toEqual({ entries: [], next: null });
  });
});

test('returns config_not_found for a pipe without blocking', async () => {
  const { folder, configs } = setUp();
  makePipe(join(folder, 'pipe.json'));
  expect(refusalOf(await configs.load('pipe')).code).toBe('config_not_found');
});

describe('writing a config', () => {
  test('creates a config file that is readable only by its owner, and that can be loaded', async () => {
    const { put, configs, folder, announced, read } = setUp();
    const outcome = await put('lora', { lr: 1, nested: { a: [1, 2] } });
    expect(outcome).toMatchObject({ ok: true, value: { what: 'created', name: 'lora', file: 'lora.json' } });
    expect(await configs.load('lora')).toMatchObject({ value: { config: { lr: 1, nested: { a: [1, 2] } } } });
    expect(statSync(join(folder, 'lora.json')).mode & 0o777).toBe(0o600);
    expect(read('lora.json')).toContain('\n  "lr": 1,\n');
    expect(announced).toEqual([outcome.ok && outcome.value]);
    expect(readdirSync(folder)).toEqual(['lora.json']);
  });

  test('replaces an existing config and keeps its file mode', async () => {
    const { put, folder, read } = setUp({ 'lora.json': { lr: 1 }, 'lora/config.json': { lr: 2 } });
    chmodSync(join(folder, 'lora.json'), 0o640);
    expect(await put('lora', { lr: 3 })).toMatchObject({ value: { what: 'replaced', file: 'lora.json' } });
    expect(JSON.parse(read('lora.json'))).toEqual({ lr: 3 });
    expect(JSON.parse(read('lora/config.json'))).toEqual({ lr: 2 });
    expect(statSync(join(folder, 'lora.json')).mode & 0o777).toBe(0o640);
  });

  test('replaces a config in its own folder', async () => {
    const { put, read, folder } = setUp({ 'lora/config.json': { lr: 2 }, 'lora/data.json': [] });
    expect(await put('lora', { lr: 3 })).toMatchObject({
      value: { what: 'replaced', file: 'lora/config.json' },
    });
    expect(JSON.parse(read('lora/config.json'))).toEqual({ lr: 3 });
    expect(readdirSync(join(folder, 'lora')).toSorted()).toEqual(['config.json', 'data.json']);
    expect(existsSync(join(folder, 'lora.json'))).toBe(false);
  });

  test('replaces a broken config, and removes the temporary file of a crashed write', async () => {
    const { put, folder, configs } = setUp({ 'lora.json': '{', '.trainyard-unfinished': 'half' });
    expect((await put('lora', { lr: 3 })).ok).toBe(true);
    expect(await configs.load('lora')).toMatchObject({ value: { config: { lr: 3 } } });
    expect(readdirSync(folder)).toEqual(['lora.json']);
  });

  test('returns config_exists when the config exists and the caller expects nothing', async () => {
    const { put, read, announced } = setUp({ 'a.json': { lr: 1 }, 'b/config.json': { lr: 1 } });
    for (const name of ['a', 'b'])
      expect(refusalOf(await put(name, { lr: 2 }, 'nothing')).code).toBe('config_exists');
    expect((await put('c', { lr: 2 }, 'nothing')).ok).toBe(true);
    expect([read('a.json'), announced.length]).toEqual(['{"lr":1}', 1]);
  });

  test('returns config_changed when the config does not have a tag that the caller expects', async () => {
    const { put, tagOf, read } = setUp({ 'lora.json': { lr: 1 } });
    const tag = await tagOf('lora');
    expect(refusalOf(await put('lora', { lr: 2 }, ['stale'])).code).toBe('config_changed');
    expect(refusalOf(await put('new', { lr: 2 }, [tag])).code).toBe('config_changed');
    expect(refusalOf(await put('new', { lr: 2 }, 'something')).code).toBe('config_changed');
    expect((await put('lora', { lr: 2 }, ['other', tag])).ok).toBe(true);
    expect(refusalOf(await put('lora', { lr: 3 }, [tag])).code).toBe('config_changed');
    expect(JSON.parse(read('lora.json'))).toEqual({ lr: 2 });
  });

  test('accepts only one of several concurrent writes that expect the same tag', async () => {
    const { put, tagOf } = setUp({ 'lora.json': { lr: 1 } });
    const tag = await tagOf('lora');
    const outcomes = await Promise.all([1, 2, 3, 4].map(lr => put('lora', { lr }, [tag])));
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
  });

  test('returns a different tag for different content', async () => {
    const { put, configs } = setUp();
    const tags = new Set<string | null>();
    for (const lr of [1, 2, 1]) {
      const outcome = await put('lora', { lr });
      const stored = await configs.find('lora');
      expect(stored.ok && stored.value.tag).toBe(outcome.ok && outcome.value.tag);
      tags.add(outcome.ok ? outcome.value.tag : null);
    }
    expect(tags.size).toBe(2);
  });
});

describe('refusing to write a config', () => {
  test.each<readonly [description: string, name: string, code: string]>([
    ['under a name that exists in another case', 'LoRA', 'config_in_the_way'],
    ['under a folder name that exists in another case', 'Own', 'config_in_the_way'],
    ['under a name that exists in another Unicode normalization', 'e\u0301tude', 'config_in_the_way'],
    ['over a dataloader', 'data', 'config_in_the_way'],
    ['over a link within the folder', 'same', 'config_in_the_way'],
    ['over a link that leads out of the folder', 'out', 'config_in_the_way'],
    ['into its own folder when a link has its file name', 'double', 'config_in_the_way'],
    ['into a folder that is a link', 'outside', 'config_in_the_way'],
    ['over a link in its own folder', 'linked', 'config_in_the_way'],
    ['when a folder has the file name', 'folder', 'config_in_the_way'],
    ['when a pipe has the file name', 'pipe', 'config_in_the_way'],
    ['with a file extension in its name', 'new.json', 'invalid_request'],
    ['with a name that is too long for a file', 'ß'.repeat(126), 'invalid_request'],
  ])('refuses to write a config %s', async (_case, name, code) => {
    const fixture = setUp({
      'lora.json': { lr: 1 },
      'own/config.json': {},
      'étude.json': {},
      'data.json': [1],
      'folder.json/x': '',
      'linked/x': '',
      'double/config.json': {},
    });
    const { root, folder } = fixture;
    symlinkSync(join(folder, 'lora.json'), join(folder, 'same.json'));
    symlinkSync(join(root, 'secret.json'), join(folder, 'out.json'));
    symlinkSync(join(root, 'private'), join(folder, 'outside'));
    symlinkSync(join(folder, 'lora.json'), join(folder, 'double.json'));
    symlinkSync(join(root, 'secret.json'), join(folder, 'linked/config.json'));
    makePipe(join(folder, 'pipe.json'));
    const before = snapshot(root);
    expect(refusalOf(await fixture.put(name)).code).toBe(code);
    expect(snapshot(root)).toEqual(before);
    expect(fixture.announced).toEqual([]);
  });

  test('refuses a config that is too large to load', async () => {
    const { put, configs } = setUp();
    expect(refusalOf(await put('lora', { x: 'x'.repeat(1_000_000) })).code).toBe('body_too_large');
    expect((await put('lora', { x: Array.from({ length: 300_000 }, () => 1) })).ok).toBe(true);
    expect((await configs.load('lora')).ok).toBe(true);
  });

  test('refuses a config that is nested too deeply, and stores a deeply nested config without indentation', async () => {
    const { put, configs, folder } = setUp();
    const nested = (depth: number): Files => {
      const text = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      return JSON.parse(text) as Files;
    };
    expect((await put('deep', nested(3_000))).ok).toBe(true);
    expect(statSync(join(folder, 'deep.json')).size).toBeLessThan(30_000);
    expect((await configs.load('deep')).ok).toBe(true);
    expect(refusalOf(await put('deeper', nested(100_000))).code).toBe('config_invalid');
  });

  test('writes and deletes no config when the change cannot be recorded', async () => {
    const { configs, folder } = setUp({ 'lora.json': { lr: 1 } });
    const fail = (): Promise<void> => Promise.reject(new Error('no room'));
    const request = { name: 'lora', expected: 'anything' } as const;
    await expect(configs.put({ ...request, config: { lr: 2 } }, fail)).rejects.toThrow('no room');
    await expect(configs.remove(request, fail)).rejects.toThrow('no room');
    expect(readdirSync(folder)).toEqual(['lora.json']);
    expect(await configs.load('lora')).toMatchObject({ value: { config: { lr: 1 } } });
    // The failed write must not block the next write.
    expect((await configs.put({ ...request, config: { lr: 3 } }, () => Promise.resolve())).ok).toBe(true);
  });

  test('removes the temporary file when a folder takes the name of the config during the write', async () => {
    const { configs, folder } = setUp();
    const outcome = await configs.put({ name: 'lora', config: { lr: 1 }, expected: 'anything' }, () => {
      mkdirSync(join(folder, 'lora.json'));
      return Promise.resolve();
    });
    expect(refusalOf(outcome).code).toBe('storage');
    expect(readdirSync(folder)).toEqual(['lora.json']);
  });

  test('returns a storage error when the configs folder is missing', async () => {
    const configs = createConfigFiles(join(openFolder(), 'none'));
    const outcome = await configs.put({ name: 'lora', config: { lr: 1 }, expected: 'anything' }, () =>
      Promise.resolve(),
    );
    expect(refusalOf(outcome).code).toBe('storage');
  });
});

describe('deleting a config', () => {
  test('deletes only the file of the config', async () => {
    const { remove, folder, announced } = setUp({
      'lora.json': {},
      'lora/config.json': {},
      'lora/data.json': [],
      'data.json': [],
    });
    expect(await remove('lora')).toMatchObject({ value: { what: 'deleted', file: 'lora.json' } });
    expect(readdirSync(folder).toSorted()).toEqual(['data.json', 'lora']);
    expect(await remove('lora')).toMatchObject({ value: { what: 'deleted', file: 'lora/config.json' } });
    expect(readdirSync(join(folder, 'lora'))).toEqual(['data.json']);
    expect(refusalOf(await remove('lora')).code).toBe('config_not_found');
    expect(announced.map(({ file }) => file)).toEqual(['lora.json', 'lora/config.json']);
  });

  test('returns config_changed, and deletes nothing, when the config does not have the expected tag', async () => {
    const { remove, tagOf } = setUp({ 'lora.json': { lr: 1 } });
    expect(refusalOf(await remove('lora', ['stale'])).code).toBe('config_changed');
    expect(refusalOf(await remove('other', 'something')).code).toBe('config_changed');
    expect((await remove('lora', [await tagOf('lora')])).ok).toBe(true);
  });

  test.each([
    ['a link within the folder', 'same', 'config_in_the_way'],
    ['a link that leads out of the folder', 'out', 'config_in_the_way'],
    ['a folder that is a link', 'outside', 'config_in_the_way'],
    ['a dataloader', 'data', 'config_in_the_way'],
    ['a folder', 'folder', 'config_in_the_way'],
    ['a config named in another case', 'LORA', 'config_not_found'],
  ])('refuses to delete %s', async (_case, name, code) => {
    const { root, folder, remove, announced } = setUp({
      'lora.json': {},
      'data.json': [],
      'folder.json/x': '',
    });
    symlinkSync(join(folder, 'lora.json'), join(folder, 'same.json'));
    symlinkSync(join(root, 'secret.json'), join(folder, 'out.json'));
    symlinkSync(join(root, 'private'), join(folder, 'outside'));
    const before = snapshot(root);
    expect(refusalOf(await remove(name)).code).toBe(code);
    expect([snapshot(root), announced]).toEqual([before, []]);
  });
});

// Returns, for each path, the mode and text of a file, or "folder" or "other".
function snapshot(folder: string, subfolder = ''): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(join(folder, subfolder)).flatMap(name => {
      const path = join(subfolder, name);
      const facts = lstatSync(join(folder, path));
      if (facts.isDirectory()) return [[path, 'folder'], ...Object.entries(snapshot(folder, path))];
      return [[path, facts.isFile() ? `${facts.mode} ${readFileSync(join(folder, path), 'utf8')}` : 'other']];
    }),
  );
}

describe('arbitrary config names', () => {
  const anyPiece = fc.constantFrom(
    ...'.. . / \\ %2e %2f secret private config .json C: ~ out outside same lora own con NUL $(x) - a *'.split(
      ' ',
    ),
    '\0',
    ' ',
    '\n',
    '\u202e',
    'é',
    'e\u0301',
    '\ud800',
  );
  const anyName = fc.oneof(
    fc.array(anyPiece, { minLength: 1, maxLength: 6 }).map(parts => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );

  test('never reads or changes any file except the files of the named config', async () => {
    const fixture = setUp({ 'lora.json': { lr: 1 }, 'own/config.json': {}, 'own/data.json': [] });
    const { root, folder } = fixture;
    symlinkSync(join(folder, 'lora.json'), join(folder, 'same.json'));
    symlinkSync(join(root, 'secret.json'), join(folder, 'out.json'));
    symlinkSync(join(root, 'private'), join(folder, 'outside'));
    const anyAction = fc.constantFrom('find', 'load', 'put', 'remove');
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          anyName,
          anyName.map(text => join(folder, text)),
        ),
        anyAction,
        async (text, action) => {
          const before = snapshot(root);
          const outcome = await (action === 'find' || action === 'load'
            ? fixture.configs[action](text)
            : fixture[action](text));
          expect(JSON.stringify(outcome)).not.toContain('"secret":true');
          const after = snapshot(root);
          const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
            path => before[path] !== after[path],
          );
          // A name with a slash or backslash, or a name that consists only of dots, could lead to another folder.
          const isPlain = !/[/\\]|^\.+$/.test(text);
          // A name can already end with `.json`.
          const fileWithName = text.endsWith('.json') ? [`configs/${text}`] : [];
          const expectedFiles = isPlain
            ? [...fileWithName, `configs/${text}.json`, `configs/${text}/config.json`]
            : [];
          expect(changed.filter(path => !expectedFiles.includes(path))).toEqual([]);
          if (!outcome.ok) expect([400, 404, 409, 422]).toContain(statusOf(outcome.refusal.code));
        },
      ),
      { numRuns: 600 },
    );
  });
});

const statusOf = (code: string): number =>
  ({ invalid_request: 400, config_not_found: 404, config_in_the_way: 409, config_invalid: 422 })[code] ?? 500;
