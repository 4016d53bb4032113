// The settings in these tests have fake dependencies.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Network } from '../../../../main/host/network.ts';
import { openSettingsFile } from '../../../../main/host/settings-sources.ts';
import { createSettings } from '../../../../main/host/settings.ts';
import { unknownElectricity } from '../../../../protocol/settings-api.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

const off = { enabled: false, gpus: null, trainer: null, work_dir: null };
const caller = { actor: { type: 'admin', id: 'ada', address: null }, isHere: true } as const;

// Replacements for dependencies, for example functions that fail.
interface Overrides {
  readonly note?: () => Promise<void>;
  readonly certificate?: () => Promise<void>;
}

function open({ note = () => Promise.resolve(), certificate = () => Promise.resolve() }: Overrides = {}) {
  const path = join(openFolder(), 'settings.json');
  const steps: string[] = [];
  // Each function completes one network change.
  const finishNetworkChange: (() => void)[] = [];
  const network: Network = {
    host: '127.0.0.1',
    isSecure: false,
    hasLoopbackSocket: true,
    port: 8001,
    url: 'http://127.0.0.1:8001',
    listening: () => [],
    open: () => Promise.resolve(),
    stop: () => undefined,
    async change({ host, isSecure }) {
      steps.push(`opens ${host}${isSecure ? ' with TLS' : ''}`);
      await new Promise<void>(resolve => finishNetworkChange.push(resolve));
      return {
        commit: () => void steps.push(`commits ${host}`),
        undo: async () => void steps.push(`undoes ${host}`),
      };
    },
  };
  const settings = createSettings({
    file: openSettingsFile(path),
    given: {
      host: '127.0.0.1',
      isSecure: false,
      localWorker: { enabled: false, gpus: null, trainer: null, workDir: null },
      publicUrl: null,
      auditRetentionDays: null,
      fixedBy: {},
    },
    network,
    addresses: () => [],
    identity: () => null,
    refreshCertificate: async () => void steps.push('refreshes the certificate'),
    openCertificate: async () => {
      await certificate();
      steps.push('has a certificate');
    },
    localWorker: {
      state: () => 'off',
      turn: async worker => void steps.push(worker === null ? 'turns off' : 'turns on'),
      close: () => Promise.resolve(),
    },
    orchestrator: {
      access: {
        noteSettings: async facts => {
          await note();
          steps.push(...facts.map(({ type }) => type));
        },
      },
      lifecycle: {
        holdBackFor: kinds => void steps.push(`holds back for ${JSON.stringify(kinds)}`),
        runLocally: runs => void steps.push(`runs locally: ${runs}`),
      },
    },
    keepAuditFor: days => void steps.push(`keeps the trail for ${days}`),
    about: { version: '1', configs_dir: '/c', data_dir: '/d', hasSample: true },
  });
  const storedSettings = (): unknown => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null);
  return { settings, steps, finishNetworkChange, storedSettings, path };
}

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test('applies concurrent settings changes one after the other without losing any', async () => {
  const { settings, steps, finishNetworkChange, storedSettings } = open();
  const first = settings.change({ host: '0.0.0.0' }, caller);
  const second = settings.change({ public_url: 'https://yard.example' }, caller);
  await nextTurn();
  expect(steps).toEqual(['opens 0.0.0.0']);
  finishNetworkChange[0]?.();
  await Promise.all([first, second]);
  expect(steps).toEqual([
    'opens 0.0.0.0',
    'settings.network_changed',
    'commits 0.0.0.0',
    'settings.public_url_changed',
  ]);
  expect(storedSettings()).toEqual({
    host: '0.0.0.0',
    tls: false,
    public_url: 'https://yard.example',
    local_worker: off,
    audit_retention_days: null,
    gpu_troubles: { missing: true, errors: true, held: true },
    electricity: unknownElectricity,
  });
});

test('undoes a settings change that cannot be recorded in the audit trail', async () => {
  const { settings, steps, finishNetworkChange, storedSettings, path } = open({
    note: () => Promise.reject(new Error('disk full')),
  });
  const change = settings.change({ shared: true, local_worker: { enabled: true } }, caller);
  await nextTurn();
  finishNetworkChange[0]?.();
  await expect(change).rejects.toThrow('disk full');
  expect(steps).toEqual(['opens 0.0.0.0', 'undoes 0.0.0.0']);
  expect(storedSettings()).toBeNull();
  expect(existsSync(`${path}.new`)).toBe(false);
  // The failed change must not block the next change.
  await expect(settings.change({}, caller)).resolves.toMatchObject({ ok: true });
});

test('keeps the chosen host when sharing is turned on and the host is already shared', async () => {
  const { settings, steps, finishNetworkChange } = open();
  const change = settings.change({ host: '::' }, caller);
  await nextTurn();
  finishNetworkChange[0]?.();
  await change;
  expect(await settings.change({ shared: true }, caller)).toMatchObject({ ok: true });
  expect(steps.filter(step => step.startsWith('opens'))).toEqual(['opens ::']);
});

test('changes TLS and the host in one step, after creating a certificate', async () => {
  const { settings, steps, finishNetworkChange, storedSettings } = open();
  const change = settings.change({ shared: true, tls: true }, caller);
  await nextTurn();
  finishNetworkChange[0]?.();
  await change;
  expect(steps).toEqual([
    'has a certificate',
    'opens 0.0.0.0 with TLS',
    'settings.network_changed',
    'settings.tls_changed',
    'commits 0.0.0.0',
    'refreshes the certificate',
  ]);
  expect(storedSettings()).toMatchObject({ host: '0.0.0.0', tls: true });
});

test('changes no settings when the certificate cannot be created', async () => {
  const { settings, steps, storedSettings } = open({
    certificate: () => Promise.reject(new Error('no room')),
  });
  expect(await settings.change({ shared: true, tls: true }, caller)).toMatchObject({
    ok: false,
    refusal: { code: 'storage', detail: 'no room. Nothing was changed' },
  });
  expect(steps).toEqual([]);
  expect(storedSettings()).toBeNull();
});

test('applies a change of the GPU trouble policy, and ignores an equal change', async () => {
  const { settings, steps, storedSettings } = open();
  const policy = { missing: true, errors: true, held: false };
  expect(await settings.change({ gpu_troubles: { held: false } }, caller)).toMatchObject({
    ok: true,
    value: { gpu_troubles: policy },
  });
  expect(await settings.change({ gpu_troubles: { held: false } }, caller)).toMatchObject({ ok: true });
  expect(steps).toEqual(['settings.gpu_troubles_changed', `holds back for ${JSON.stringify(policy)}`]);
  expect(storedSettings()).toMatchObject({ gpu_troubles: policy });
});

test('records a new audit retention before applying it, and ignores an equal retention', async () => {
  const { settings, steps, storedSettings } = open();
  expect(await settings.change({ audit_retention_days: 90 }, caller)).toMatchObject({
    ok: true,
    value: { audit: { retention_days: 90, fixed_by: null } },
  });
  expect(await settings.change({ audit_retention_days: null }, caller)).toMatchObject({ ok: true });
  expect(await settings.change({ audit_retention_days: null }, caller)).toMatchObject({ ok: true });
  expect(steps).toEqual([
    'settings.audit_retention_changed',
    'keeps the trail for 90',
    'settings.audit_retention_changed',
    'keeps the trail for null',
  ]);
  expect(storedSettings()).toMatchObject({ audit_retention_days: null });
});
