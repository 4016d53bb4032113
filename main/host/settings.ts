import { isAbsolute } from 'node:path';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Settings, SettingsChange, SettingsView } from '../../protocol/settings-api.ts';
import type { Orchestrator, SettingsFact } from '../orchestrator/index.ts';
import type { Actor } from '../orchestrator/ports.ts';
import { byReach, isLoopback, isWildcard, type MachineAddress, reachOf, urlOf } from './addresses.ts';
import type { LocalWorkerSettings } from './local-worker-plan.ts';
import type { LocalWorkerSwitch } from './local-worker-switch.ts';
import type { Move, Network } from './network.ts';
import type { SettingsFile } from './settings-file.ts';

type LocalWorker = Settings['local_worker'];

/** What flags and the config file say, and which of it they say. */
export interface Given {
  readonly host: string;
  readonly localWorker: LocalWorkerSettings & { readonly enabled: boolean };
  readonly fixedBy: Readonly<
    Partial<
      Record<
        'host' | 'local-worker' | 'local-worker-gpus' | 'local-worker-trainer' | 'local-worker-work-dir',
        string
      >
    >
  >;
}

export interface SettingsParts {
  readonly file: SettingsFile;
  readonly given: Given;
  readonly network: Network;
  readonly addresses: () => readonly MachineAddress[];
  readonly localWorker: LocalWorkerSwitch;
  readonly orchestrator: Pick<Orchestrator, 'noteSettings' | 'runLocally'>;
  readonly about: Pick<SettingsView, 'version' | 'configs_dir' | 'data_dir'> & {
    readonly hasSample: boolean;
  };
}

interface Asker {
  readonly actor: Actor;
  /** At this machine. */
  readonly isHere: boolean;
}

const notice =
  'Tokens and configs travel unencrypted: share only with a network that you trust, or put TLS in front of it';

/**
 * What people set while the orchestrator runs. A change is done as a whole or not at all: first what can fail (the sockets,
 * the file, the audit trail), then what can not.
 */
export function createSettings(parts: SettingsParts) {
  const { file, given, localWorker, orchestrator, about } = parts;
  let last: Promise<unknown> = Promise.resolve();

  const view = (isHere: boolean): SettingsView => ({
    version: about.version,
    network: networkView(parts),
    public_url: file.settings.public_url,
    configs_dir: about.configs_dir,
    data_dir: about.data_dir,
    local_worker: {
      ...inForce(given, file.settings).local_worker,
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
  });

  const change = async (wanted: SettingsChange, by: Asker): Promise<Outcome<SettingsView>> => {
    const was = inForce(given, file.settings);
    const next = changed(was, wanted);
    const refusal = fixedRefusal(given, was, next) ?? commandRefusal(was, next, by);
    if (refusal !== null) return refusal;
    const facts = factsOf(was, next);
    if (facts.length === 0) return accept(view(by.isHere));
    const move = await moveTo(parts, was.host, next.host);
    if (!move.ok) return move;
    const kept = await keep(parts, toKeep(given, file.settings, next), facts, by.actor).catch(
      async (cause: unknown) => {
        await move.value?.undo();
        throw cause;
      },
    );
    if (!kept.ok) {
      await move.value?.undo();
      return kept;
    }
    move.value?.settle();
    if (facts.some(({ type }) => type === 'settings.local_worker_changed')) {
      const { local_worker: worker } = next;
      await localWorker.turn(worker.enabled ? settingsOf(worker) : null);
      orchestrator.runLocally(worker.enabled);
    }
    return accept(view(by.isHere));
  };

  return {
    view,
    joinUrl: (called: string): string => file.settings.public_url ?? reachableFor(networkView(parts), called),
    /** One after the other. */
    change(wanted: SettingsChange, by: Asker): Promise<Outcome<SettingsView>> {
      const turn = last.then(() => change(wanted, by));
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Somebody on this machine, who has called by its loopback address, may well want a worker on another one. */
function reachableFor({ shared, addresses }: SettingsView['network'], called: string): string {
  const isCalledHere = URL.canParse(called) && isLoopback(new URL(called).hostname);
  if (!shared || !isCalledHere) return called;
  return addresses.find(({ listening, note }) => listening && note === null)?.url ?? called;
}

function networkView({ given, network, addresses }: SettingsParts): SettingsView['network'] {
  const { host, port } = network;
  const listening = network.listening();
  const shared = !isLoopback(host);
  return {
    host,
    port,
    shared,
    fixed_by: given.fixedBy.host ?? null,
    listening: [...listening],
    addresses: addresses()
      .toSorted(byReach)
      .map(each => {
        const url = urlOf(each.address, port);
        return {
          url,
          interface: each.interface,
          family: each.family,
          listening: listening.includes(url),
          note: reachOf(each),
        };
      }),
    notice: shared ? notice : null,
  };
}

function changed(
  was: Settings,
  { shared, host, public_url: url, local_worker: worker }: SettingsChange,
): Settings {
  const chosen = host ?? (shared === undefined ? was.host : hostFor(shared, was.host));
  return {
    host: chosen,
    public_url: url === undefined ? was.public_url : url,
    local_worker: { ...was.local_worker, ...worker },
  };
}

/** One that is shared as somebody has chosen it stays as it is. */
function hostFor(shared: boolean, host: string): string {
  if (!shared) return '127.0.0.1';
  return isLoopback(host) ? '0.0.0.0' : host;
}

/** Each value on its own: what a flag or the config file says counts before what was set. */
const inForce = ({ host, localWorker, fixedBy }: Given, set: Settings): Settings => ({
  host: fixedBy.host === undefined ? set.host : host,
  public_url: set.public_url,
  local_worker: {
    enabled: fixedBy['local-worker'] === undefined ? set.local_worker.enabled : localWorker.enabled,
    gpus: fixedBy['local-worker-gpus'] === undefined ? set.local_worker.gpus : localWorker.gpus,
    trainer: fixedBy['local-worker-trainer'] === undefined ? set.local_worker.trainer : localWorker.trainer,
    work_dir:
      fixedBy['local-worker-work-dir'] === undefined ? set.local_worker.work_dir : localWorker.workDir,
  },
});

/** Of what is fixed, what was set before stays as it was: it counts again when nothing fixes it any more. */
const toKeep = ({ fixedBy }: Given, set: Settings, next: Settings): Settings => ({
  host: fixedBy.host === undefined ? next.host : set.host,
  public_url: next.public_url,
  local_worker: {
    enabled: (fixedBy['local-worker'] === undefined ? next : set).local_worker.enabled,
    gpus: (fixedBy['local-worker-gpus'] === undefined ? next : set).local_worker.gpus,
    trainer: (fixedBy['local-worker-trainer'] === undefined ? next : set).local_worker.trainer,
    work_dir: (fixedBy['local-worker-work-dir'] === undefined ? next : set).local_worker.work_dir,
  },
});

/** What the worker of this machine is started with; null for none. */
export function localWorkerInForce(given: Given, set: Settings): LocalWorkerSettings | null {
  const { local_worker: worker } = inForce(given, set);
  return worker.enabled ? settingsOf(worker) : null;
}

const settingsOf = ({ gpus, trainer, work_dir: workDir }: LocalWorker): LocalWorkerSettings => ({
  gpus,
  trainer,
  workDir,
});

type Refused = ReturnType<typeof refuse>;

function fixedRefusal({ fixedBy }: Given, was: Settings, next: Settings): Refused | null {
  const changes: readonly (readonly [boolean, string | undefined, string])[] = [
    [was.host !== next.host, fixedBy.host, 'Where the orchestrator listens'],
    [
      was.local_worker.enabled !== next.local_worker.enabled,
      fixedBy['local-worker'],
      'Whether this machine runs jobs',
    ],
    [
      was.local_worker.gpus !== next.local_worker.gpus,
      fixedBy['local-worker-gpus'],
      'Which GPUs the worker of this machine uses',
    ],
    [
      was.local_worker.trainer !== next.local_worker.trainer,
      fixedBy['local-worker-trainer'],
      'The trainer of the worker of this machine',
    ],
    [
      was.local_worker.work_dir !== next.local_worker.work_dir,
      fixedBy['local-worker-work-dir'],
      'The folder of the worker of this machine',
    ],
  ];
  const found = changes.find(([isChanged, by]) => isChanged && by !== undefined);
  if (found === undefined) return null;
  const [, by, what] = found;
  return refuse(
    'setting_fixed',
    `${what} is fixed by ${by}: start the orchestrator without it to set it here`,
  );
}

/** What is started on this machine, and where it writes, is for those to say who sit at it: a token may have leaked. */
function commandRefusal({ local_worker: was }: Settings, next: Settings, { isHere }: Asker): Refused | null {
  const { trainer, work_dir: workDir } = next.local_worker;
  if (trainer === was.trainer && workDir === was.work_dir) return null;
  if (!isHere)
    return refuse(
      'only_from_here',
      'What the worker of this machine runs, and in which folder, can be set from the machine itself only: there, open the ' +
        'panel at its own address, or give --local-worker-trainer and --local-worker-work-dir',
    );
  if (workDir === null || isAbsolute(workDir)) return null;
  return refuse('invalid_request', `local_worker.work_dir: ${workDir} is no absolute path`);
}

function factsOf(was: Settings, next: Settings): readonly SettingsFact[] {
  const { local_worker: worker } = next;
  const isWorkerChanged = (['enabled', 'gpus', 'trainer', 'work_dir'] as const).some(
    key => worker[key] !== was.local_worker[key],
  );
  return [
    ...(was.host === next.host
      ? []
      : [{ type: 'settings.network_changed' as const, details: { host: next.host, was: was.host } }]),
    ...(was.public_url === next.public_url
      ? []
      : [
          {
            type: 'settings.public_url_changed' as const,
            details: { public_url: next.public_url, was: was.public_url },
          },
        ]),
    ...(isWorkerChanged
      ? [{ type: 'settings.local_worker_changed' as const, details: { ...worker, was: was.local_worker } }]
      : []),
  ];
}

async function moveTo(
  { network, addresses }: SettingsParts,
  was: string,
  host: string,
): Promise<Outcome<Move | null>> {
  if (host === was) return accept(null);
  // Some systems listen on addresses that are not their own, and nobody comes.
  const isOwn = isWildcard(host) || isLoopback(host) || addresses().some(({ address }) => address === host);
  if (!isOwn) return refuse('address_unavailable', `${notOwn(host)}. Nothing was changed`);
  try {
    return accept(await network.move(host));
  } catch (cause) {
    return refuse('address_unavailable', `${whyNot(cause, host, network.port)}. Nothing was changed`);
  }
}

const notOwn = (address: string): string =>
  `${address} is no address of this machine: choose one of its own, or 0.0.0.0 for all of them`;

function whyNot(cause: unknown, host: string, port: number): string {
  const failure = cause instanceof Error ? cause : new Error(String(cause));
  const code = 'code' in failure ? failure.code : null;
  const address = 'address' in failure ? String(failure.address) : host;
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${address} is in use by another program: stop that one first`;
  if (code === 'EADDRNOTAVAIL') return notOwn(address);
  return `${address} can not be listened on: ${failure.message}`;
}

/** In the file and in the audit trail, or in neither. Rejects when the trail can not be written. */
async function keep(
  { file, orchestrator }: SettingsParts,
  settings: Settings,
  facts: readonly SettingsFact[],
  by: Actor,
): Promise<Outcome<void>> {
  const draft = drafted(file, settings);
  if (!draft.ok) return draft;
  try {
    await orchestrator.noteSettings(facts, by);
  } catch (cause) {
    draft.value.drop();
    throw cause;
  }
  draft.value.keep();
  return accept(undefined);
}

function drafted(file: SettingsFile, settings: Settings): Outcome<ReturnType<SettingsFile['draft']>> {
  try {
    return accept(file.draft(settings));
  } catch (cause) {
    return refuse(
      'storage',
      `${cause instanceof Error ? cause.message : String(cause)}. Nothing was changed`,
    );
  }
}
