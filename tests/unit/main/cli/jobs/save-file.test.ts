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

interface RecordedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}
const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'save-file-'));

let folder: string;
let requests: RecordedRequest[];
beforeEach(() => {
  folder = join(temporaryFolder(), 'out');
  requests = [];
});
const targetPath = () => join(folder, 'checkpoint-5', 'model.bin');
const partPath = () => `${targetPath()}.${file.sha256.slice(0, 12)}.part`;
const savedFileNames = (): readonly string[] => readdirSync(join(folder, 'checkpoint-5'));

interface FakeServer {
  readonly fileContent?: string;
  // The connection breaks after this number of bytes.
  readonly breaksAfter?: number;
  readonly supportsRanges?: boolean;
}

const fetchFrom =
  ({
    fileContent = content,
    breaksAfter = Number.POSITIVE_INFINITY,
    supportsRanges = true,
  }: FakeServer): Fetch =>
  (url, { headers = {} }) => {
    requests.push({ path: url.pathname, headers });
    const from = supportsRanges ? Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? 0) : 0;
    const bytes = new TextEncoder().encode(fileContent.slice(from));
    let isSent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isSent) controller.enqueue(bytes.slice(0, breaksAfter));
        else if (breaksAfter < bytes.length) controller.error(new Error('connection lost'));
        else controller.close();
        isSent = true;
      },
    });
    const etag = `"${sha256(fileContent)}"`;
    return Promise.resolve(new Response(body, { status: from > 0 ? 206 : 200, headers: { etag } }));
  };

const save = (server: FakeServer = {}, artifact: ArtifactView = file, isOverwriting = false) => {
  const sizes: number[] = [];
  const remote = {
    connection: () => ({ url: 'http://far', token: 'secret', provenBy: null }),
    fetch: fetchFrom(server),
  };
  const saved = saveFile(remote, artifact, {
    folder,
    isOverwriting,
    onBytes: bytes => void sizes.push(bytes),
  });
  return { saved, sizes };
};
const failureOf = async (saved: Promise<unknown>) => {
  const cause: unknown = await saved.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof CommandEnd)) throw new Error('saveFile did not throw a CommandEnd', { cause });
  return cause.failure;
};
const createFile = (path: string, text: string): void => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
};

test('saves a file under its key and leaves no temporary file', async () => {
  const { saved, sizes } = save();
  expect(await saved).toEqual({ path: targetPath(), outcome: 'downloaded' });
  expect(readFileSync(targetPath(), 'utf8')).toBe(content);
  expect(savedFileNames()).toEqual(['model.bin']);
  expect(sizes.at(-1)).toBe(content.length);
  expect(requests).toEqual([
    {
      path: '/api/queue/j_1/artifacts/checkpoint-5/model.bin',
      headers: { authorization: 'Bearer secret' },
    },
  ]);
});

test('keeps the received part of a broken download and resumes from there on the next run', async () => {
  const failure = await failureOf(save({ breaksAfter: 10 }).saved);
  expect(failure.code).toBe(exitCodes.unreachable);
  expect(failure.message).toContain('run the command again');
  expect(savedFileNames()).toEqual([partPath().split('/').at(-1)]);
  await save().saved;
  expect(requests.at(-1)?.headers).toMatchObject({ range: 'bytes=10-', 'if-range': `"${file.sha256}"` });
  expect(readFileSync(targetPath(), 'utf8')).toBe(content);
  expect(savedFileNames()).toEqual(['model.bin']);
});

test.each([
  [
    'downloads everything again from a server without ranges',
    content.slice(0, 10),
    { supportsRanges: false },
  ],
  ['downloads everything again when the stored part is too long', `${content}and more`, {}],
])('%s', async (_title, storedPart, server) => {
  createFile(partPath(), storedPart);
  await save(server).saved;
  expect(readFileSync(targetPath(), 'utf8')).toBe(content);
});

test('sends no request when the stored part is complete', async () => {
  createFile(partPath(), content);
  await save().saved;
  expect(requests).toEqual([]);
  expect(readFileSync(targetPath(), 'utf8')).toBe(content);
});

test('deletes a downloaded file with a wrong checksum', async () => {
  createFile(partPath(), 'wrong!');
  const failure = await failureOf(save().saved);
  expect(failure.code).toBe(exitCodes.failed);
  expect(existsSync(targetPath())).toBe(false);
  await save().saved;
  expect(readFileSync(targetPath(), 'utf8')).toBe(content);
});

test('does not append a changed file to a partial download of the previous version', async () => {
  createFile(partPath(), content.slice(0, 10));
  const failure = await failureOf(save({ fileContent: 'another one' }).saved);
  expect(failure).toMatchObject({ code: exitCodes.conflict });
  expect(failure.message).toContain('changed during the download');
  expect(readFileSync(partPath(), 'utf8')).toBe(content.slice(0, 10));
});

describe('existing files', () => {
  test('does not download an identical file again', async () => {
    createFile(targetPath(), content);
    expect(await save().saved).toEqual({ path: targetPath(), outcome: 'already there' });
    expect(requests).toEqual([]);
  });

  test('overwrites a different file only when requested', async () => {
    createFile(targetPath(), 'a different text');
    expect((await failureOf(save().saved)).code).toBe(exitCodes.conflict);
    expect([readFileSync(targetPath(), 'utf8'), savedFileNames()]).toEqual([
      'a different text',
      ['model.bin'],
    ]);
    await save({}, file, true).saved;
    expect(readFileSync(targetPath(), 'utf8')).toBe(content);
  });

  test('refuses to replace a folder', async () => {
    mkdirSync(targetPath(), { recursive: true });
    expect((await failureOf(save({}, file, true).saved)).message).toContain('is not a file');
  });
});

describe('paths outside the folder', () => {
  test.each(['../evil.bin', 'a/../../evil.bin', '/evil.bin', 'a//b', '..', 'C:\\evil.bin', 'a\u0000b', ''])(
    'refuses the artifact key %j as a file name',
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
      writeFileSync(join(outside, 'model.bin'), 'unrelated');
      mkdirSync(join(folder, name, '..'), { recursive: true });
      symlinkSync(name.endsWith('.bin') ? join(outside, 'model.bin') : outside, join(folder, name));
      expect((await failureOf(save({}, file, true).saved)).code).toBe(exitCodes.conflict);
      expect(readdirSync(outside)).toEqual(['model.bin']);
      expect(readFileSync(join(outside, 'model.bin'), 'utf8')).toBe('unrelated');
    },
  );
});

test('reports a folder that cannot be created', async () => {
  createFile(folder, 'a file at the path of the folder');
  const failure = await failureOf(save().saved);
  expect(failure.code).toBe(exitCodes.failed);
  expect(failure.message).toMatch(/^checkpoint-5\/model\.bin: EEXIST/);
});
