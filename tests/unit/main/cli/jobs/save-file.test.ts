import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { CommandEnd, exitCodes } from '../../../../../main/cli/failure.ts';
import { saveFile } from '../../../../../main/cli/jobs/save-file.ts';
import type { ArtifactView } from '../../../../../protocol/artifact.ts';
import type { Fetch } from '../../../../../protocol/client.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { sha256 } from '../../../../support/upload-bench.ts';

const content = 'abcdefghijklmnopqrstuvwxyz';
const file: ArtifactView = {
  job_id: JobId.parse('j_1'),
  key: 'checkpoint-5/model.bin',
  kind: 'checkpoint',
  bytes: content.length,
  sha256: sha256(content),
  attempt: 1,
  created_at: '2026-01-01T00:00:00Z',
};

interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}
const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'save-file-'));

let folder: string;
let requests: Asked[];
beforeEach(() => {
  folder = join(temporaryFolder(), 'out');
  requests = [];
});
const target = () => join(folder, 'checkpoint-5', 'model.bin');
const part = () => `${target()}.${file.sha256.slice(0, 12)}.part`;
const inPlace = (): readonly string[] => readdirSync(join(folder, 'checkpoint-5'));

// The file on the server. `serves` is its content. `breaksAfter` is the number of bytes after which a response breaks
// off.
interface ServedFile {
  readonly serves?: string;
  readonly breaksAfter?: number;
  readonly hasRanges?: boolean;
}

const fetchFrom =
  ({ serves = content, breaksAfter = Number.POSITIVE_INFINITY, hasRanges = true }: ServedFile): Fetch =>
  (url, { headers = {} }) => {
    requests.push({ path: url.pathname, headers });
    const from = hasRanges ? Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? 0) : 0;
    const bytes = new TextEncoder().encode(serves.slice(from));
    let isSent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isSent) controller.enqueue(bytes.slice(0, breaksAfter));
        else if (breaksAfter < bytes.length) controller.error(new Error('the way broke'));
        else controller.close();
        isSent = true;
      },
    });
    const etag = `"${sha256(serves)}"`;
    return Promise.resolve(new Response(body, { status: from > 0 ? 206 : 200, headers: { etag } }));
  };

const save = (far: ServedFile = {}, own: ArtifactView = file, isOverwriting = false) => {
  const sizes: number[] = [];
  const way = {
    connection: () => ({ url: 'http://far', token: 'secret', provenBy: null }),
    fetch: fetchFrom(far),
  };
  const saved = saveFile(way, own, { folder, isOverwriting, onBytes: bytes => void sizes.push(bytes) });
  return { saved, sizes };
};
const failureOf = async (saved: Promise<unknown>) => {
  const cause: unknown = await saved.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof CommandEnd)) throw new Error('it did not end the command', { cause });
  return cause.failure;
};
const lay = (path: string, text: string): void => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
};

test('saves a file under its key without leftovers', async () => {
  const { saved, sizes } = save();
  expect(await saved).toEqual({ path: target(), outcome: 'downloaded' });
  expect(readFileSync(target(), 'utf8')).toBe(content);
  expect(inPlace()).toEqual(['model.bin']);
  expect(sizes.at(-1)).toBe(content.length);
  expect(requests).toEqual([
    {
      path: '/api/queue/j_1/artifacts/checkpoint-5/model.bin',
      headers: { authorization: 'Bearer secret' },
    },
  ]);
});

test('keeps the received part of a broken download and continues it the next time', async () => {
  const failure = await failureOf(save({ breaksAfter: 10 }).saved);
  expect(failure.code).toBe(exitCodes.unreachable);
  expect(failure.message).toContain('run the command again');
  expect(inPlace()).toEqual([part().split('/').at(-1)]);
  await save().saved;
  expect(requests.at(-1)?.headers).toMatchObject({ range: 'bytes=10-', 'if-range': `"${file.sha256}"` });
  expect(readFileSync(target(), 'utf8')).toBe(content);
  expect(inPlace()).toEqual(['model.bin']);
});

test.each([
  ['downloads everything again from a server without ranges', content.slice(0, 10), { hasRanges: false }],
  ['restarts a part that is too long', `${content}and more`, {}],
])('%s', async (_, there, far) => {
  lay(part(), there);
  await save(far).saved;
  expect(readFileSync(target(), 'utf8')).toBe(content);
});

test('needs no request when the part is complete', async () => {
  lay(part(), content);
  await save().saved;
  expect(requests).toEqual([]);
  expect(readFileSync(target(), 'utf8')).toBe(content);
});

test('drops a file with a wrong checksum', async () => {
  lay(part(), 'wrong!');
  const failure = await failureOf(save().saved);
  expect(failure.code).toBe(exitCodes.failed);
  expect(existsSync(target())).toBe(false);
  await save().saved;
  expect(readFileSync(target(), 'utf8')).toBe(content);
});

test('does not mix a changed file with the part of the previous one', async () => {
  lay(part(), content.slice(0, 10));
  const failure = await failureOf(save({ serves: 'another one' }).saved);
  expect(failure).toMatchObject({ code: exitCodes.conflict });
  expect(failure.message).toContain('changed during the download');
  expect(readFileSync(part(), 'utf8')).toBe(content.slice(0, 10));
});

describe('existing files', () => {
  test('does not download an identical file again', async () => {
    lay(target(), content);
    expect(await save().saved).toEqual({ path: target(), outcome: 'already there' });
    expect(requests).toEqual([]);
  });

  test('overwrites a different file only when requested', async () => {
    lay(target(), 'mine');
    expect((await failureOf(save().saved)).code).toBe(exitCodes.conflict);
    expect([readFileSync(target(), 'utf8'), inPlace()]).toEqual(['mine', ['model.bin']]);
    await save({}, file, true).saved;
    expect(readFileSync(target(), 'utf8')).toBe(content);
  });

  test('refuses to replace a folder', async () => {
    mkdirSync(target(), { recursive: true });
    expect((await failureOf(save({}, file, true).saved)).message).toContain('is not a file');
  });
});

describe('paths outside the folder', () => {
  test.each(['../evil.bin', 'a/../../evil.bin', '/evil.bin', 'a//b', '..', 'C:\\evil.bin', 'a\u0000b', ''])(
    'refuses the key %j',
    async key => {
      const failure = await failureOf(save({}, { ...file, key }).saved);
      expect(failure.message).toContain('not a valid file name');
      expect([requests, existsSync(folder)]).toEqual([[], false]);
    },
  );

  test.each(['checkpoint-5', 'checkpoint-5/model.bin'])(
    'refuses to write through the symbolic link %s',
    async name => {
      const outside = temporaryFolder();
      writeFileSync(join(outside, 'model.bin'), 'theirs');
      mkdirSync(join(folder, name, '..'), { recursive: true });
      symlinkSync(name.endsWith('.bin') ? join(outside, 'model.bin') : outside, join(folder, name));
      expect((await failureOf(save({}, file, true).saved)).code).toBe(exitCodes.conflict);
      expect(readdirSync(outside)).toEqual(['model.bin']);
      expect(readFileSync(join(outside, 'model.bin'), 'utf8')).toBe('theirs');
    },
  );
});

test('reports a folder that cannot be created', async () => {
  lay(folder, 'a file in the place of the folder');
  const failure = await failureOf(save().saved);
  expect(failure.code).toBe(exitCodes.failed);
  expect(failure.message).toMatch(/^checkpoint-5\/model\.bin: EEXIST/);
});
