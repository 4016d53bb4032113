import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadServerConfig } from '../../../../main/config.ts';
import { createWitness } from '../../../../main/host/audit-marks.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

// A witness is a file or a URL outside the data folder that receives marks of the audit trail.

const mark = (seq: number) => ({ seq, hash: 'a'.repeat(64), at: '2026-01-01T12:00:00.000Z' });
const { signal } = new AbortController();

test('appends one line per mark to a witness file readable only by its owner', async () => {
  const file = join(openFolder(), 'witness');
  const witness = createWitness(file);
  await witness.tell(mark(1), signal);
  await witness.tell(mark(2), signal);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(lines.map(line => JSON.parse(line) as unknown)).toEqual([mark(1), mark(2)]);
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  ['an unfinished last line', `${JSON.stringify(mark(8))}\n{"seq":9,"ha`, mark(8)],
  ['a line of another program at the end', `${JSON.stringify(mark(8))}\nrotated by logrotate\n`, mark(8)],
  [
    'megabytes of other text at the start',
    `${'x'.repeat(200)}\n`.repeat(9_000) + JSON.stringify(mark(8)),
    mark(8),
  ],
  ['no mark at all', 'hello\n{"seq":0}\n', null],
])('finds the newest mark in a witness file with %s', (_case, text, expected) => {
  const file = join(openFolder(), 'witness');
  writeFileSync(file, text);
  expect(createWitness(file).newest?.()).toEqual(expected);
});

test('returns no newest mark for a missing witness file and for a device', () => {
  expect(createWitness(join(openFolder(), 'witness')).newest?.()).toBeNull();
  expect(createWitness('/dev/null').newest?.()).toBeNull();
});

// Opens an HTTP server that answers each request with `status`. `bodies` lists the received request bodies.
async function openServer(status: number) {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () => {
      bodies.push(JSON.parse(text));
      response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { bodies, origin: `http://127.0.0.1:${port}` };
}

test('sends each mark as a POST to the URL of the witness', async () => {
  const { bodies, origin } = await openServer(204);
  await createWitness(`${origin}/secret-path`).tell(mark(7), signal);
  expect(bodies).toEqual([{ product: 'trainyard', ...mark(7) }]);
});

test.each([500, 302])(
  'fails when the witness URL returns %d, and hides the path of the URL in the error',
  async status => {
    const { origin } = await openServer(status);
    const witness = createWitness(`${origin}/secret-path`);
    const failure = await witness.tell(mark(7), signal).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toContain(origin);
    expect(String(failure)).not.toContain('secret-path');
    expect(witness.name).toBe(origin);
  },
);

test.each([
  ['/srv/data/witness', 'outside the data folder'],
  ['/srv/data', 'outside the data folder'],
  ['witness', 'absolute path'],
  ['http://example.org/', 'https://'],
  ['http://127.0.0.1.example.org/', 'https://'],
  ['https://', 'not a URL'],
])('refuses the witness %s for the data folder /srv/data', (target, detail) => {
  const config = loadServerConfig(
    { 'audit-witness': target, 'data-dir': '/srv/data' },
    { XDG_CONFIG_HOME: '/nowhere' },
  );
  expect(config).toMatchObject({ ok: false, refusal: { detail: expect.stringContaining(detail) } });
});

test('accepts as witnesses: files outside the data folder, https URLs, and http URLs on loopback', () => {
  const targets = [
    '/var/log/witness',
    'https://example.org/hook',
    'http://127.0.0.1:9000/',
    'http://[::1]:9000/',
  ];
  const config = loadServerConfig(
    { 'audit-witness': targets, 'data-dir': '/srv/data' },
    { XDG_CONFIG_HOME: '/nowhere' },
  );
  expect(config).toMatchObject({ ok: true, value: { auditWitnesses: targets } });
});
