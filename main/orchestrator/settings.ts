import { holdingBackAtFirst } from '../../protocol/settings-api.ts';
import type { HoldingBack } from '../../protocol/worker.ts';
import type { Core } from './core.ts';
import { dispatch } from './dispatch.ts';
import type { Actor, SettingsFactType } from './model.ts';

/** Whether the orchestrator's own machine runs jobs; that may change while it runs. */
export interface Home {
  runsLocally(): boolean;
  setRunsLocally(runs: boolean): void;
}

export function createHome(atFirst: boolean): Home {
  let runs = atFirst;
  return {
    runsLocally: () => runs,
    setRunsLocally(now) {
      runs = now;
    },
  };
}

/** Which troubles of a GPU keep jobs from its worker; that may change while it runs. */
export interface Caution {
  holdingBack(): HoldingBack;
  setHoldingBack(kinds: HoldingBack): void;
}

export function createCaution(atFirst: HoldingBack = holdingBackAtFirst): Caution {
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

/** What people set of the orchestrator itself, as far as it concerns jobs and the trail. */
export function createSettingsCalls(core: Core, home: Home, caution: Caution) {
  return {
    /** For the audit trail: all of it, or none when it is rejected. */
    noteSettings: (facts: readonly SettingsFact[], by: Actor): Promise<void> =>
      core.store.write(tx => {
        const at = core.clock.wall();
        const target = { type: 'settings', id: 'settings' } as const;
        for (const { type, details } of facts) tx.appendAudit({ at, type, actor: by, target, details });
      }),

    /** From now on an agent is kept on this machine, or is not any more: who waits for it is looked at again. */
    runLocally(runs: boolean): void {
      if (home.runsLocally() === runs) return;
      home.setRunsLocally(runs);
      core.enqueue(tx => void dispatch(core, tx));
    },

    /** From now on these troubles of a GPU keep jobs from its worker: those that have any are looked at again. */
    holdBackFor(kinds: HoldingBack): void {
      caution.setHoldingBack(kinds);
      core.enqueue(tx => {
        for (const { id, agent } of tx.workers())
          if (agent !== null && agent.gpuTroubles.length > 0) core.line.noteWorker(id);
        dispatch(core, tx);
      });
    },
  };
}
