import { defaultGpuTroubles } from '../../../../protocol/settings-api.ts';
import type { HoldingBack } from '../../../../protocol/worker.ts';
import type { Core } from '../../core.ts';
import { enqueueCommand } from '../command.ts';
import type { Actor } from '../../model.ts';
import type { SettingsFactType } from '../../events.ts';

/** Stores the setting that decides whether the orchestrator's own machine runs jobs. Users can change the setting. */
export interface LocalWorkerSettings {
  runsLocally(): boolean;
  setRunsLocally(runs: boolean): void;
}

export function createLocalWorkerSettings(initial: boolean): LocalWorkerSettings {
  let runs = initial;
  return {
    runsLocally: () => runs,
    setRunsLocally(next) {
      runs = next;
    },
  };
}

/** Stores the setting that lists which kinds of GPU trouble make a worker ineligible. Users can change the setting. */
export interface GpuTroublePolicy {
  holdingBack(): HoldingBack;
  setHoldingBack(kinds: HoldingBack): void;
}

export function createGpuTroublePolicy(initial: HoldingBack = defaultGpuTroubles): GpuTroublePolicy {
  let kinds = initial;
  return {
    holdingBack: () => kinds,
    setHoldingBack(next) {
      kinds = next;
    },
  };
}

export interface SettingsFact {
  readonly type: SettingsFactType;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Records changes of settings in the audit trail, in one transaction. If the promise rejects, no change is recorded. */
export const noteSettings =
  (core: Core) =>
  (facts: readonly SettingsFact[], by: Actor): Promise<void> =>
    core.store.write(tx => {
      const at = core.clock.wall();
      const target = { type: 'settings', id: 'settings' } as const;
      for (const { type, details } of facts) tx.appendAudit({ at, type, actor: by, target, details });
    });

/** Calls that change settings for jobs while the orchestrator runs. */
export function createSettingsCalls(
  core: Core,
  localWorkerSettings: LocalWorkerSettings,
  gpuTroublePolicy: GpuTroublePolicy,
) {
  return {
    /** Sets whether the orchestrator's own machine runs jobs, and dispatches pending jobs. */
    runLocally(runs: boolean): void {
      if (localWorkerSettings.runsLocally() === runs) return;
      localWorkerSettings.setRunsLocally(runs);
      enqueueCommand(core, () => {});
    },

    /** Sets the kinds of GPU trouble that make a worker ineligible, and evaluates workers with GPU trouble again. */
    holdBackFor(kinds: HoldingBack): void {
      gpuTroublePolicy.setHoldingBack(kinds);
      enqueueCommand(core, tx => {
        for (const { id, agent } of tx.workers())
          if (agent !== null && agent.gpuTroubles.length > 0) core.jobQueue.noteWorker(id);
      });
    },
  };
}
