import { isAbsolute } from 'node:path';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Settings, SettingsChange, SettingsView } from '../../protocol/settings-api.ts';
import type { Orchestrator, SettingsFact } from '../orchestrator/index.ts';
import type { Actor } from '../orchestrator/ports/index.ts';
import { isLoopback, isWildcard } from './addresses.ts';
import type { LocalWorkerSwitch } from './local-worker-switch.ts';
import type { NetworkChange } from './network.ts';
import {
  type JoinAddress,
  joinAddress,
  scriptAddress,
  networkView,
  type NetworkViewDeps,
  tlsFixedBy,
} from './network-access.ts';
import {
  type SettingsFile,
  effectiveAuditDays,
  refuseFixed,
  effectiveSettings,
  effectivePublicUrl,
  type Refused,
  toStore,
  workerSettingsOf,
} from './settings-sources.ts';

export interface SettingsDeps extends NetworkViewDeps {
  readonly file: SettingsFile;
  /** Creates or reads the certificate. Rejects with a reason. */
  readonly openCertificate: () => Promise<unknown>;
  /** Updates the certificate. Called after the host names may have changed. */
  readonly refreshCertificate: () => Promise<void>;
  readonly localWorker: LocalWorkerSwitch;
  readonly orchestrator: {
    readonly access: Pick<Orchestrator['access'], 'noteSettings'>;
    readonly lifecycle: Pick<Orchestrator['lifecycle'], 'runLocally' | 'holdBackFor'>;
  };
  readonly keepAuditFor: (days: number | null) => void;
  readonly about: Pick<SettingsView, 'version' | 'configs_dir' | 'data_dir'> & {
    readonly hasSample: boolean;
  };
}

interface Caller {
  readonly actor: Actor;
  /** True if the client connects from this machine. */
  readonly isHere: boolean;
}

/**
 * Settings that users change while the server runs. A change applies completely or not at all, because all steps that can fail
 * (sockets, file, audit trail) run first.
 */
export function createSettings(deps: SettingsDeps) {
  const { file, given, localWorker, orchestrator, about } = deps;
  let last: Promise<unknown> = Promise.resolve();

  const view = (isHere: boolean): SettingsView => ({
    version: about.version,
    network: networkView(deps),
    public_url: effectivePublicUrl(given, file.settings),
    public_url_fixed_by: given.fixedBy['public-url'] ?? null,
    configs_dir: about.configs_dir,
    data_dir: about.data_dir,
    local_worker: {
      ...effectiveSettings(given, file.settings).local_worker,
      state: localWorker.state(),
      fixed_by: {
        enabled: given.fixedBy['local-worker'] ?? null,
        gpus: given.fixedBy['local-worker-gpus'] ?? null,
        trainer: given.fixedBy['local-worker-trainer'] ?? null,
        work_dir: given.fixedBy['local-worker-work-dir'] ?? null,
      },
      command_allowed: isHere,
      has_sample: about.hasSample,
    },
    audit: {
      retention_days: effectiveAuditDays(given, file.settings),
      fixed_by: given.fixedBy['audit-retention-days'] ?? null,
    },
    gpu_troubles: file.settings.gpu_troubles,
    electricity: file.settings.electricity,
  });

  const change = async (request: SettingsChange, by: Caller): Promise<Outcome<SettingsView>> => {
    const was = effectiveSettings(given, file.settings);
    const next = applyChange(was, request);
    const refusal =
      refuseFixed(given, was, next) ?? refuseTls(deps, was, next) ?? refuseCommand(was, next, by);
    if (refusal !== null) return refusal;
    const facts = factsOf(was, next);
    if (facts.length === 0) return accept(view(by.isHere));
    const networkChange = await changeNetwork(deps, was, next);
    if (!networkChange.ok) return networkChange;
    const saved = await save(deps, toStore(given, file.settings, next), facts, by.actor).catch(
      async (cause: unknown) => {
        await networkChange.value?.undo();
        throw cause;
      },
    );
    if (!saved.ok) {
      await networkChange.value?.undo();
      return saved;
    }
    networkChange.value?.commit();
    if (next.audit_retention_days !== was.audit_retention_days) deps.keepAuditFor(next.audit_retention_days);
    if (facts.some(({ type }) => type === 'settings.gpu_troubles_changed'))
      orchestrator.lifecycle.holdBackFor(next.gpu_troubles);
    if (next.tls) await deps.refreshCertificate();
    if (facts.some(({ type }) => type === 'settings.local_worker_changed')) {
      const { local_worker: worker } = next;
      await localWorker.turn(worker.enabled ? workerSettingsOf(worker) : null);
      orchestrator.lifecycle.runLocally(worker.enabled);
    }
    return accept(view(by.isHere));
  };

  return {
    view,
    joinAddress: (called: string): JoinAddress =>
      joinAddress(deps, effectiveSettings(given, file.settings), called),
    scriptAddress: (called: string): JoinAddress =>
      scriptAddress(deps, effectiveSettings(given, file.settings), called),
    /** Applies changes one at a time. */
    change(request: SettingsChange, by: Caller): Promise<Outcome<SettingsView>> {
      const applied = last.then(() => change(request, by));
      last = applied.catch(() => undefined);
      return applied;
    },
  };
}

function applyChange(
  was: Settings,
  { shared, host, tls, public_url: url, local_worker: worker, ...rest }: SettingsChange,
): Settings {
  const { audit_retention_days: days, gpu_troubles: troubles, electricity } = rest;
  const chosen = host ?? (shared === undefined ? was.host : hostFor(shared, was.host));
  return {
    host: chosen,
    tls: tls ?? was.tls,
    public_url: url === undefined ? was.public_url : url,
    local_worker: { ...was.local_worker, ...worker },
    audit_retention_days: days === undefined ? was.audit_retention_days : days,
    gpu_troubles: { ...was.gpu_troubles, ...troubles },
    electricity: { ...was.electricity, ...electricity },
  };
}

/** Returns the address to listen on after sharing is turned on or off. A shared server keeps the address that a user chose. */
function hostFor(shared: boolean, host: string): string {
  if (!shared) return '127.0.0.1';
  return isLoopback(host) ? '0.0.0.0' : host;
}

/** Refuses a change of TLS if clients on this machine have no loopback socket, because they would have to use TLS, too. */
function refuseTls({ network, given }: SettingsDeps, was: Settings, next: Settings): Refused | null {
  const by = tlsFixedBy(network, given);
  if (was.tls === next.tls || by === null) return null;
  return refuse(
    'setting_fixed',
    `${by} fixes the only address, so TLS cannot change here. Start the orchestrator without ${by}, or also with --ssl`,
  );
}

/** Allows only clients on this machine to change the worker's command or folder, so that a leaked token cannot run programs. */
function refuseCommand({ local_worker: was }: Settings, next: Settings, { isHere }: Caller): Refused | null {
  const { trainer, work_dir: workDir } = next.local_worker;
  if (trainer === was.trainer && workDir === was.work_dir) return null;
  if (!isHere)
    return refuse(
      'only_from_here',
      "Only a browser on the orchestrator's own machine can set the trainer and the folder of its worker. Open the panel there, " +
        'or start the orchestrator with --local-worker-trainer and --local-worker-work-dir',
    );
  if (workDir === null || isAbsolute(workDir)) return null;
  return refuse('invalid_request', `local_worker.work_dir: ${workDir} is not an absolute path`);
}

/** The settings that the audit events of each type contain. */
const auditedSettings = [
  { type: 'settings.network_changed', of: ({ host }) => ({ host }) },
  { type: 'settings.tls_changed', of: ({ tls }) => ({ tls }) },
  { type: 'settings.public_url_changed', of: ({ public_url }) => ({ public_url }) },
  { type: 'settings.audit_retention_changed', of: ({ audit_retention_days: days }) => ({ days }) },
  { type: 'settings.gpu_troubles_changed', of: ({ gpu_troubles }) => gpu_troubles },
  { type: 'settings.electricity_changed', of: ({ electricity }) => electricity },
  { type: 'settings.local_worker_changed', of: ({ local_worker }) => local_worker },
] as const satisfies readonly {
  readonly type: SettingsFact['type'];
  readonly of: (settings: Settings) => Readonly<Record<string, unknown>>;
}[];

function factsOf(was: Settings, next: Settings): readonly SettingsFact[] {
  return auditedSettings.flatMap(({ type, of }) => {
    const before: Readonly<Record<string, unknown>> = of(was);
    const after: Readonly<Record<string, unknown>> = of(next);
    const names = Object.keys(after);
    if (names.every(name => before[name] === after[name])) return [];
    const [only = ''] = names;
    return [{ type, details: { ...after, was: names.length === 1 ? before[only] : before } }];
  });
}

/** Changes address and TLS together. The value is null when neither changes. */
async function changeNetwork(
  { network, addresses, openCertificate }: SettingsDeps,
  was: Settings,
  { host, tls }: Settings,
): Promise<Outcome<NetworkChange | null>> {
  if (host === was.host && tls === was.tls) return accept(null);
  // Some systems allow listening on an address of another machine, but no client could connect to that.
  const isOwn =
    host === was.host ||
    isWildcard(host) ||
    isLoopback(host) ||
    addresses().some(({ address }) => address === host);
  if (!isOwn) return refuse('address_unavailable', `${notOwnText(host)}. Nothing was changed`);
  if (tls) {
    try {
      await openCertificate();
    } catch (cause) {
      return refuse('storage', `${reasonOf(cause)}. Nothing was changed`);
    }
  }
  try {
    return accept(await network.change({ host, isSecure: tls }));
  } catch (cause) {
    return refuse(
      'address_unavailable',
      `${describeFailure(cause, host, network.port)}. Nothing was changed`,
    );
  }
}

const notOwnText = (address: string): string =>
  `${address} is not an address of this machine: choose one of its own, or 0.0.0.0 for all of them`;

function describeFailure(cause: unknown, host: string, port: number): string {
  const failure = cause instanceof Error ? cause : new Error(String(cause));
  const code = 'code' in failure ? failure.code : null;
  const address = 'address' in failure ? String(failure.address) : host;
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${address} is in use by another program: stop that one first`;
  if (code === 'EADDRNOTAVAIL') return notOwnText(address);
  return `${address} cannot be listened on: ${failure.message}`;
}

/** Saves to the file and the audit trail, or to neither. Rejects when the trail cannot be written. */
async function save(
  { file, orchestrator }: SettingsDeps,
  settings: Settings,
  facts: readonly SettingsFact[],
  by: Actor,
): Promise<Outcome<void>> {
  const draft = tryDraft(file, settings);
  if (!draft.ok) return draft;
  try {
    await orchestrator.access.noteSettings(facts, by);
  } catch (cause) {
    draft.value.drop();
    throw cause;
  }
  draft.value.keep();
  return accept(undefined);
}

function tryDraft(file: SettingsFile, settings: Settings): Outcome<ReturnType<SettingsFile['draft']>> {
  try {
    return accept(file.draft(settings));
  } catch (cause) {
    return refuse('storage', `${reasonOf(cause)}. Nothing was changed`);
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
