/**
 * Uploads through real reverse proxies, configured with the exact blocks in docs/network.md. Debian has no package of
 * Traefik, so its block is only parsed, and checked for the required settings.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it, onTestFinished } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import {
  caddy,
  certificate,
  documentedBlocks,
  nginx,
  proxyName,
  startCaddy,
  startNginx,
} from '../support/reverse-proxies.ts';
import { valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { adminOf, openServer } from './storage-bench.ts';

const pollOptions = { timeout: 100_000, interval: 200 } as const;

/**
 * Starts a server and a proxy in front of it. `startRig` starts a worker that connects through the proxy. Its trainer
 * writes a file of the given size and ends when `endTrainer` is called.
 */
async function openServerBehind<P>(
  startProxy: (orchestrator: string) => Promise<P>,
  urlOf: (proxy: P) => string,
) {
  const server = await openServer(temporaryFolder(), [
    '--allow-host',
    proxyName,
    '--trust-proxy',
    '127.0.0.1',
    '--disk-reserve',
    '0',
  ]);
  const admin = adminOf(server);
  const watch = await watchEvents(server.url, admin.token);
  onTestFinished(() => watch.close());
  const proxy = await startProxy(server.url);
  const gateFile = join(temporaryFolder(), 'go');
  const trainerWriting = (bytes: number): string =>
    `sh -c "until [ -e ${gateFile} ]; do sleep 0.1; done; head -c ${bytes} /dev/zero > '{output_dir}/checkpoint-1.safetensors'"`;
  const startRig = async (bytes: number) => {
    const { id, token } = await admin.createWorker({ name: 'rig-1' });
    const args = [
      '--ca-file',
      certificate,
      '--name',
      'rig-1',
      '--persistent',
      '--trainer',
      trainerWriting(bytes),
    ];
    const worker = startWorker({ url: urlOf(proxy), token, args });
    await watch.worker(id, 'idle');
    return worker;
  };
  const outstanding = async (id: JobId) =>
    valueOf(await admin.client.call(queueApi.get, { params: { id } })).outstanding;
  const artifacts = async (id: JobId) =>
    valueOf(await admin.client.call(artifactsApi.list, { params: { id }, query: {} })).artifacts;
  return {
    admin,
    watch,
    proxy,
    startRig,
    outstanding,
    artifacts,
    endTrainer: () => writeFileSync(gateFile, ''),
  };
}

const size = 200_000_000;

/** Returns the SHA-256 of this number of zero bytes. */
function digestOfZeros(bytes: number): string {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(1_000_000);
  for (let left = bytes; left > 0; left -= piece.length) hash.update(piece.subarray(0, left));
  return hash.digest('hex');
}

const proxies = [
  ['nginx', nginx, async (orchestrator: string) => (await startNginx(orchestrator)).url],
  ['Caddy', caddy, startCaddy],
] as const;

describe.each(proxies)('the %s block of docs/network.md', (_name, program, start) => {
  it.skipIf(program === null)(
    'passes an upload of 200 MB through a proxy with the documented block',
    async () => {
      const { admin, watch, startRig, outstanding, artifacts, endTrainer } = await openServerBehind(
        start,
        url => url,
      );
      await startRig(size);
      const id = await admin.submit({ config: {} });
      await watch.job(id, 'running');
      endTrainer();
      await watch.jobEnd(id);
      await expect.poll(() => artifacts(id), pollOptions).toHaveLength(1);
      expect(await artifacts(id)).toMatchObject([
        { key: 'checkpoint-1.safetensors', bytes: size, sha256: digestOfZeros(size) },
      ]);
      await expect.poll(() => outstanding(id), pollOptions).toBeNull();
    },
    120_000,
  );
});

describe('the Traefik blocks of docs/network.md', () => {
  it('allows unlimited uploads through Traefik, without buffering', () => {
    const [entry, dynamic] = documentedBlocks('yaml').map(text => parse(text) as unknown);
    expect(entry).toMatchObject({
      entryPoints: {
        websecure: {
          address: ':443',
          transport: { respondingTimeouts: { readTimeout: 0, writeTimeout: 0 } },
        },
      },
    });
    expect(dynamic).toMatchObject({
      http: {
        routers: { trainyard: { rule: 'Host(`yard.example.org`)', service: 'trainyard' } },
        services: {
          trainyard: { loadBalancer: { servers: [{ url: 'http://127.0.0.1:8001' }], passHostHeader: true } },
        },
      },
    });
    expect(JSON.stringify(dynamic)).not.toContain('buffering');
  });
});

describe('a proxy that accepts bodies of at most 1 MB', () => {
  it.skipIf(nginx === null)(
    "reports an outstanding file with the reason, and uploads it once the proxy's limit is raised",
    async () => {
      const withBodyLimit = (text: string): string =>
        text.replace('client_max_body_size 0;', 'client_max_body_size 1m;');
      const { admin, watch, proxy, startRig, outstanding, artifacts, endTrainer } = await openServerBehind(
        orchestrator => startNginx(orchestrator, withBodyLimit),
        ({ url }) => url,
      );
      await startRig(42_000_000);
      const id = await admin.submit({ config: {} });
      await watch.job(id, 'running');
      endTrainer();
      const { status } = await watch.jobEnd(id);
      expect(status).toBe('completed');
      await expect
        .poll(() => outstanding(id), pollOptions)
        .toMatchObject({
          files: 1,
          bytes: 42_000_000,
          reason:
            'A proxy between this worker and the server refused an upload of 42.0 MB (413): raise its body size limit (docs/network.md)',
        });
      expect(await artifacts(id)).toEqual([]);
      proxy.reload(text => text);
      await expect.poll(() => outstanding(id), pollOptions).toBeNull();
      expect(await artifacts(id)).toMatchObject([{ bytes: 42_000_000, sha256: digestOfZeros(42_000_000) }]);
    },
    120_000,
  );
});
