import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { agentApi, programNames } from '../../../protocol/agent-api.ts';
import { createClient } from '../../../protocol/client.ts';
import { joinLine } from '../../../protocol/join-line.ts';
import { version } from '../../../protocol/version.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { revalidate } from '../../support/revalidate.ts';
import { startTestServer, type TestServerOptions, valueOf } from '../../support/server.ts';

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const [bundle, executable] = programNames;

type Limits = NonNullable<TestServerOptions['downloadLimits']>;

async function openServer(files: Readonly<Record<string, string>>, downloadLimits?: Limits) {
  // The server must also serve programs below a hidden folder, such as ~/.local/share.
  const folder = join(openFolder(), '.hidden');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const server = await startTestServer({
    workerPrograms: folder,
    ...(downloadLimits && { downloadLimits }),
    config: { trustedProxies: ['127.0.0.1'] },
  });
  onTestFinished(() => server.close());
  const client = createClient({ baseUrl: server.url, headers: () => ({}), timeoutMs: 5_000 });
  const request = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(server.url + path, { headers, signal: AbortSignal.timeout(5_000) });
  const readError = async (path: string): Promise<unknown> => {
    const response = await request(path);
    return [response.status, ((await response.json()) as { readonly code: unknown }).code];
  };
  return {
    folder,
    request,
    readError,
    url: server.url,
    admin: server.admin,
    manifest: () => client.call(agentApi.manifest),
  };
}

const bothPrograms = { [bundle]: 'the one file', [executable]: '\x7fELF and more' };

test('serves the worker programs without a token, with the hashes of the manifest', async () => {
  const allPrograms = Object.fromEntries(programNames.map(name => [name, `program ${name}`]));
  const { request, manifest } = await openServer(allPrograms);
  const { version: reportedVersion, programs, sha256: textHashes } = valueOf(await manifest());
  expect(reportedVersion).toBe(version);
  expect(programs.map(({ name }) => name)).toEqual(programNames);
  for (const { name, bytes, sha256: hash } of programs) {
    // These calls need no token, so an invalid token is ignored.
    const response = await request(`/agent/${name}`, {
      authorization: 'Bearer wrong',
      'x-worker-token': 'wrong',
    });
    const body = await response.bytes();
    expect([response.status, body.length, sha256(body)]).toEqual([200, bytes, hash]);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
  }
  for (const [path, hash] of [
    ['/agent/install.sh', textHashes.install],
    ['/agent/SHA256SUMS', textHashes.sums],
  ] as const) {
    const response = await request(path);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(sha256(await response.bytes())).toBe(hash);
  }
});

test('serves a SHA256SUMS that sha256sum accepts, and puts the same hashes into the install script', async () => {
  const { folder, request } = await openServer(bothPrograms);
  const sums = await (await request('/agent/SHA256SUMS')).text();
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  const verification = execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
  expect(String(verification)).toBe(`${bundle}: OK\n${executable}: OK\n`);
  const script = await (await request('/agent/install.sh')).text();
  for (const text of Object.values(bothPrograms)) expect(script).toContain(`'${sha256(text)}'`);
  expect(script).toContain(`version='${version}'`);
});

test('returns a join command that verifies the install script', async () => {
  const { admin, url, manifest } = await openServer(bothPrograms);
  const createdWorker = valueOf(await admin.call(workersApi.create, { body: { name: "it's a rig" } }));
  const joinToken = valueOf(
    await admin.call(workersApi.createJoinToken, { params: { id: createdWorker.worker_id } }),
  );
  const joinOptions = { url, pin: null, token: joinToken.join_token, name: "it's a rig", persistent: true };
  expect(joinToken.install_command).toBe(joinLine(joinOptions, valueOf(await manifest()).sha256.install));
});

test('answers 304 for an unchanged program, and serves the rest of an interrupted download', async () => {
  const { request, url } = await openServer(bothPrograms);
  for (const path of [`/agent/${executable}`, '/agent/install.sh']) {
    const { headers } = await request(path);
    expect(headers.get('cache-control')).toBe('public, no-cache');
    const [etag, status, length] = await revalidate(url + path, headers.get('etag') ?? '');
    expect([etag, status, length]).toEqual([headers.get('etag'), 304, 0]);
  }
  const rest = await request(`/agent/${executable}`, { range: 'bytes=5-' });
  expect([rest.status, await rest.text()]).toEqual([206, bothPrograms[executable]?.slice(5)]);
});

test('serves a new build of a program from the next request on', async () => {
  const { folder, request, manifest } = await openServer(bothPrograms);
  await manifest();
  writeFileSync(join(folder, 'draft'), 'another one');
  renameSync(join(folder, 'draft'), join(folder, executable));
  expect(valueOf(await manifest()).programs[1]?.sha256).toBe(sha256('another one'));
  expect((await request(`/agent/${executable}`)).headers.get('etag')).toBe(`"${sha256('another one')}"`);
  expect(await (await request('/agent/install.sh')).text()).toContain(sha256('another one'));
});

test('serves the bundle, and returns program_not_built for an executable that was not built', async () => {
  const { request, readError, manifest } = await openServer({ [bundle]: 'the one file' });
  expect(valueOf(await manifest()).programs.map(({ name }) => name)).toEqual([bundle]);
  expect(await readError(`/agent/${executable}`)).toEqual([404, 'program_not_built']);
  expect(await (await request('/agent/install.sh')).text()).toContain("sha256_linux_x64=''");
});

test('returns program_not_built with the remedy when no worker program was built', async () => {
  const { request, readError } = await openServer({});
  for (const { path } of Object.values(agentApi))
    expect(await readError(path)).toEqual([404, 'program_not_built']);
  expect(await (await request('/agent/install.sh')).text()).toContain('npm run build');
});

test('serves only worker programs and their scripts below /agent', async () => {
  const { folder, url } = await openServer(bothPrograms);
  writeFileSync(join(folder, 'other'), 'secret');
  for (const path of [
    '/agent/other',
    '/agent/',
    '/agent/..%2fother',
    '/agent/%2e%2e/other',
    '/agent/.',
    `/agent/${bundle}/`,
  ]) {
    const status = await new Promise(resolve =>
      get(url, { path }, response => response.resume().once('end', () => resolve(response.statusCode))),
    );
    expect([path, status]).toEqual([path, path.endsWith(`${bundle}/`) ? 200 : 404]);
  }
});

// The program is larger than all socket buffers, so a download stalls when its client does not read.
const longProgram = 64 * 1_048_576;

async function openWithLongProgram(limits: Limits) {
  const fixture = await openServer(bothPrograms, limits);
  truncateSync(join(fixture.folder, executable), longProgram);
  await fixture.request('/agent/manifest.json');
  // Sends a request from this address behind the proxy, and reads only the headers of the response.
  const startDownload = (address: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { 'x-forwarded-for': address };
      const outgoing = get(`${fixture.url}/agent/${executable}`, { agent: false, headers }, resolve);
      outgoing.once('error', reject);
      onTestFinished(() => void outgoing.destroy());
    });
  // Repeats the request until a slot is free, or until the test times out.
  const downloadUntilAdmitted = async (address: string): Promise<void> => {
    const { statusCode } = await startDownload(address);
    if (statusCode !== 200) await downloadUntilAdmitted(address);
  };
  return { ...fixture, startDownload, downloadUntilAdmitted };
}

const lenientPace = { spanMs: 60_000, minBytes: 1 };

test('limits the downloads of one address without blocking other addresses', async () => {
  const { request, startDownload, downloadUntilAdmitted } = await openWithLongProgram({
    inAll: 5,
    perAddress: 3,
    pace: lenientPace,
  });
  const downloads = await Promise.all(['192.0.2.1', '192.0.2.1', '192.0.2.1'].map(startDownload));
  expect(downloads.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  const refusedDownload = await startDownload('192.0.2.1');
  expect([refusedDownload.statusCode, refusedDownload.headers['retry-after']]).toEqual([429, '10']);
  expect((await startDownload('192.0.2.2')).statusCode).toBe(200);
  expect((await startDownload('192.0.2.3')).statusCode).toBe(200);
  expect((await startDownload('192.0.2.4')).statusCode).toBe(429);
  // Downloads of scripts are not limited.
  expect((await request('/agent/install.sh')).status).toBe(200);
  downloads[0]?.destroy();
  await downloadUntilAdmitted('192.0.2.1');
});

test('aborts a download that makes too little progress, and frees its slot', async () => {
  const { startDownload, downloadUntilAdmitted } = await openWithLongProgram({
    inAll: 1,
    perAddress: 1,
    pace: { spanMs: 200, minBytes: 1_048_576 },
  });
  const idleDownload = await startDownload('192.0.2.1');
  expect(idleDownload.statusCode).toBe(200);
  await downloadUntilAdmitted('192.0.2.2');
  const closed = new Promise(resolve => idleDownload.once('close', resolve));
  idleDownload.once('error', () => undefined).resume();
  await closed;
  expect(idleDownload.complete).toBe(false);
});
