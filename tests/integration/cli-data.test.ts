/** `trainyard data`, and `jobs submit` with the data of a config, against a real server. */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { datasetsApi } from '../../protocol/datasets-api.ts';
import { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
let localFolder: string;
beforeEach(async () => {
  server = await startTestServer();
  localFolder = temporaryFolder();
});
afterEach(() => server.close());

const trainyard = (argv: readonly string[], options?: Parameters<typeof runTrainyard>[1]) =>
  runTrainyard([...argv, '--data-dir', server.dataDir], options);
const data = (...argv: readonly string[]) => trainyard(['data', ...argv]);

/** Creates a local folder with these files (text by path). Returns its path. */
function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(localFolder, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return path;
}
const cats = { 'a.jpg': 'one', 'a.txt': 'a caption', 'more/größe 2.jpg': 'two' };

describe('trainyard data', () => {
  test('stores a folder, uploads only new files the next time, and lists the datasets', async () => {
    expect(await data('list')).toMatchObject({
      code: 0,
      out: '',
      err: 'No datasets yet. Store one with "trainyard data push FOLDER"\n',
    });
    const path = folder('cats', cats);
    const first = await data('push', path);
    expect(first.code).toBe(0);
    expect(first.out).toMatch(
      /^Dataset {2}cats\nVersion {2}[0-9a-f]{12}\nSize {5}3 files, 15 bytes\nSent {5}3 files, 15 bytes\n$/,
    );
    expect((await data('push', path)).out).toContain('nothing, all files are already stored');
    appendFileSync(join(path, 'a.txt'), ', better');
    expect((await data('push', path, '-o', 'sent_files,sent_bytes,files')).out).toBe('1\t17\t3\n');
    const { out, err } = await data('list', '--all');
    expect(out).toMatch(/^NAME +VERSION +OWNER +FILES +SIZE +PUSHED +JOBS +PINNED\ncats .*\ncats .*\n$/);
    expect(err).toMatch(/^\d+ bytes stored\n$/);
  });

  test("stores a dozen folders that are pushed in parallel, beyond the server's publish limit", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `set-${index}`);
    const pushes = names.map(name => data('push', folder(name, { 'a.jpg': name })));
    for (const { code, err } of await Promise.all(pushes))
      expect([code, err]).toEqual([0, expect.anything()]);
    const { out } = await data('list', '--all', '-o', 'name');
    expect(out.trim().split('\n').toSorted()).toEqual(names.toSorted());
  });

  test('keeps pinned datasets, and prunes unpinned ones', async () => {
    const path = folder('cats', cats);
    await data('push', path, '--keep');
    expect((await data('prune', 'cats')).err).toContain('Nothing to remove');
    expect((await data('pin', 'cats', '--remove')).out).toMatch(/^Unpinned {2}cats@[0-9a-f]{12}\n$/);
    expect((await data('prune', 'cats', '--dry-run')).out).toContain('cats');
    const declined = await trainyard(['data', 'prune', 'cats'], { answer: 'n' });
    expect([declined.code, declined.questions]).toEqual([
      1,
      ['Remove 1 dataset version? Files in no other version are deleted. [y/N] '],
    ]);
    expect(await data('prune', 'cats', '--yes')).toMatchObject({ code: 0, err: 'Removed\n' });
    expect((await data('list', '--all')).out).toBe('');
    expect(await data('pin', 'cats')).toMatchObject({ code: 4 });
  });

  test.each([
    ['a missing folder', (): string => join(localFolder, 'none'), 4, 'No file or folder'],
    ['an empty folder', (): string => folder('empty', { '.DS_Store': '' }), 2, 'has no files'],
    [
      'a link that leads outside the folder',
      (): string => {
        const path = folder('cats', cats);
        symlinkSync('/etc', join(path, 'etc'));
        return path;
      },
      2,
      'is a link to /etc, which is outside the folder',
    ],
  ])('refuses to push %s, and stores nothing', async (_what, createPath, code, message) => {
    const outcome = await data('push', createPath());
    expect(outcome).toMatchObject({ code, out: '' });
    expect(outcome.err).toContain(message);
    const { stored_bytes: stored } = valueOf(await server.admin.call(datasetsApi.list, { query: {} }));
    expect(stored).toBe(0);
  });

  test('continues an interrupted upload of a dataset file', async () => {
    const large = 'x'.repeat(10_000_000);
    const path = folder('cats', { 'large.bin': large });
    const sha256 = createHash('sha256').update(large).digest('hex');
    const partialUpload = await fetch(`${server.url}/api/datasets/contents/${sha256}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-range': `bytes 0-5999999/${large.length}`,
      },
      body: large.slice(0, 6_000_000),
    });
    expect(partialUpload.status).toBe(200);
    expect((await data('push', path, '-o', 'sent_bytes,bytes')).out).toBe('4000000\t10000000\n');
  });

  test('names a file that becomes shorter between its hashing and its upload', async () => {
    const path = folder('cats', { 'large.bin': 'x'.repeat(100_000) });
    const file = join(path, 'large.bin');
    let isHashing = false;
    const outcome = await trainyard(['data', 'push', path], {
      screen: { columns: 80, rows: 24 },
      onText(text) {
        // The command erases its progress bar once it has hashed all files.
        if (isHashing && !text.includes('reading')) truncateSync(file, 10);
        isHashing = text.includes('reading');
      },
    });
    expect(outcome.code).toBe(2);
    expect(outcome.err).toContain('large.bin cannot be read: the file has become shorter');
  });
});

describe('jobs submit with a local config', () => {
  const readJobConfig = async (out: string) => {
    const id = JobId.parse(/j_\w+/.exec(out)?.[0]);
    return valueOf(await server.admin.call(queueApi.config, { params: { id } }));
  };
  const config = (name: string, value: object): string => {
    const path = join(localFolder, name);
    writeFileSync(path, JSON.stringify(value));
    return path;
  };
  const simpletuner = (instance: string): string => {
    config('multidatabackend.json', [{ id: 'cats', type: 'local', instance_data_dir: instance }]);
    return config('lora.json', {
      model_family: 'flux',
      model_type: 'lora',
      data_backend_config: 'multidatabackend.json',
    });
  };

  test('uploads the folders that the dataloader of a local config names', async () => {
    folder('cats', cats);
    const { code, out, err } = await trainyard(['jobs', 'submit', simpletuner('cats')]);
    expect(code).toBe(0);
    expect(err).toContain('Data: cats (3 files, 15 bytes; 3 new, 15 bytes sent)\n');
    const { datasets } = valueOf(await server.admin.call(datasetsApi.list, { query: {} }));
    expect(datasets).toMatchObject([{ name: 'cats', jobs: 1 }]);
    // The job keeps the path as the user wrote it.
    expect((await readJobConfig(out)).dataloader).toMatchObject([{ instance_data_dir: 'cats' }]);
  });

  test('uploads no data when its path does not exist on this machine, or with --no-data', async () => {
    const remotePathRun = await trainyard(['jobs', 'submit', simpletuner('/mnt/nas/cats')]);
    expect(remotePathRun).toMatchObject({
      code: 0,
      err: 'Data: /mnt/nas/cats is not on this machine; it must exist on the rig\n',
    });
    folder('cats', cats);
    expect(await trainyard(['jobs', 'submit', simpletuner('cats'), '--no-data'])).toMatchObject({
      code: 0,
      err: '',
    });
    expect(valueOf(await server.admin.call(datasetsApi.list, { query: {} })).datasets).toEqual([]);
  });

  test('uploads no data in a dry run, and prints what a submit would upload', async () => {
    folder('cats', cats);
    const { code, err } = await trainyard(['jobs', 'submit', simpletuner('cats'), '--dry-run']);
    expect(code).toBe(0);
    expect(err).toContain('Data: cats would be pushed (3 files, 15 bytes)\n');
    expect(valueOf(await server.admin.call(datasetsApi.list, { query: {} })).stored_bytes).toBe(0);
  });

  test('accepts --data for a custom config, and rejects a path that does not exist', async () => {
    const path = folder('cats', cats);
    const configPath = config('own.json', { images: path });
    const outcome = await trainyard(['jobs', 'submit', configPath, '--data', path]);
    expect(outcome.err).toContain(`Data: ${path} (3 files`);
    const missing = await trainyard(['jobs', 'submit', configPath, '--data', join(localFolder, 'none')]);
    expect(missing).toMatchObject({ code: 2, out: '' });
    expect(missing.err).toContain('no such file or folder on this machine');
    const stored = await trainyard(['jobs', 'submit', 'stored-config', '--data', path]);
    expect(stored).toMatchObject({ code: 2 });
    expect(stored.err).toContain('--data needs a local config file');
  });
});
