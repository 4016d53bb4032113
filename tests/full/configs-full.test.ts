/** When the disk of the configs folder is full, changes are answered with 507 and existing files stay intact. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { configsApi } from '../../protocol/configs-api.ts';
import { valueOf } from '../support/server.ts';
import { adminOf, canMount, mountDisk, needsMount, openServer } from './storage-bench.ts';

const storageRefusal = { ok: false, failure: { kind: 'problem', status: 507, problem: { code: 'storage' } } };

describe.skipIf(!canMount)(`a full disk${needsMount}`, () => {
  test('refuses config changes with 507 on a full disk, keeps existing configs, and recovers with space', async () => {
    const disk = mountDisk(512);
    const server = await openServer(undefined, ['--configs-dir', disk.path]);
    const { client } = adminOf(server);
    const put = (config: Record<string, unknown>) =>
      client.call(configsApi.put, { params: { name: 'lora' }, body: config });
    const types = async (): Promise<readonly string[]> =>
      valueOf(await client.call(auditApi.list, {})).entries.map(({ event_type: type }) => type);
    valueOf(await put({ lr: 1 }));
    disk.fill();
    expect(await put({ text: 'x'.repeat(50_000) })).toMatchObject(storageRefusal);
    expect(valueOf(await client.call(configsApi.get, { params: { name: 'lora' } }))).toEqual({ lr: 1 });
    expect(readdirSync(disk.path).filter(name => name.startsWith('.trainyard'))).toEqual([]);
    expect(await types()).toEqual(['config.created']);
    disk.free();
    expect(valueOf(await put({ lr: 2 }))).toMatchObject({ created: false });
    disk.makeReadOnly();
    expect(await put({ lr: 3 })).toMatchObject(storageRefusal);
    const removed = await client.call(configsApi.remove, { params: { name: 'lora' } });
    expect(removed).toMatchObject(storageRefusal);
    expect(valueOf(await client.call(configsApi.get, { params: { name: 'lora' } }))).toEqual({ lr: 2 });
    expect(await types()).toEqual([
      'config.change_failed',
      'config.deleted',
      'config.replaced',
      'config.created',
    ]);
  });

  test("keeps a config when the audit trail's disk is full", async () => {
    const disk = mountDisk(6_144);
    const server = await openServer(join(disk.path, 'data'), ['--configs-dir', join(disk.path, 'configs')]);
    const { client } = adminOf(server);
    writeFileSync(join(disk.path, 'configs/lora.json'), '{"lr": 1}');
    disk.fill();
    expect(await client.call(configsApi.remove, { params: { name: 'lora' } })).toMatchObject(storageRefusal);
    expect(valueOf(await client.call(configsApi.get, { params: { name: 'lora' } }))).toEqual({ lr: 1 });
    disk.free();
  });
});
