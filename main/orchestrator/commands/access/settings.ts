import { defaultGpuTroubles } from '../../../../protocol/settings-api.ts';
import type { HoldingBack } from '../../../../protocol/worker.ts';
import type { Core } from '../../core.ts';
import { enqueueCommand } from '../command.ts';
import type { Actor } from '../../model.ts';
import type { SettingsFactType } from '../../events.ts';

/** Stores whether the orchestrator's own machine runs jobs, which users can change. */
export interface LocalWorkerSettings {
  runsLocally(): boolean;
  setRunsLocally(runs: boolean): void;
}

export function createLocalWorkerSettings(atFirst: boolean): LocalWorkerSettings {
  let runs = atFirst;
  return {
    runsLocally: () => runs,
    setRunsLocally(now) {
      runs = now;
    },
  };
}

/** Stores the kinds of GPU trouble that make a worker ineligible, which users can change. */
export interface GpuTroublePolicy {
  holdingBack(): HoldingBack;
  setHoldingBack(kinds: HoldingBack): void;
}

export function createGpuTroublePolicy(atFirst: HoldingBack = defaultGpuTroubles): GpuTroublePolicy {
  let kinds = atFirst;
  return {
    holdingBack: () => kinds,
    setHoldingBack(now) {
      kinds = now;
    },
  };
}

export interface SettingsFact {
  readonly type: SettingsFactType;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Records all facts in the audit trail. If it rejects, none is recorded. */
export const noteSettings =
  (core: Core) =>
  (facts: readonly SettingsFact[], by: Actor): Promise<void> =>
    core.store.write(tx => {
      const at = core.clock.wall();
      const target = { type: 'settings', id: 'settings' } as const;
      for (const { type, details } of facts) tx.appendAudit({ at, type, actor: by, target, details });
    });

/** Settings that affect jobs, and that users can change while the orchestrator runs. */
export function createSettingsCalls(
  core: Core,
  localWorkerSettings: LocalWorkerSettings,
  gpuTroublePolicy: GpuTroublePolicy,
) {
  return {
    /** Sets whether this machine runs jobs, and dispatches the jobs that wait for it. */
    runLocally(runs: boolean): void {
      if (localWorkerSettings.runsLocally() === runs) return;
      localWorkerSettings.setRunsLocally(runs);
      enqueueCommand(core, () => {});
    },

    /** Sets the kinds of GPU trouble that make a worker ineligible. Evaluates workers with any trouble again. */
    holdBackFor(kinds: HoldingBack): void {
      gpuTroublePolicy.setHoldingBack(kinds);
      enqueueCommand(core, tx => {
        for (const { id, agent } of tx.workers())
          if (agent !== null && agent.gpuTroubles.length > 0) core.jobQueue.noteWorker(id);
      });
    },
  };
}
