import type { Outcome } from '../../protocol/problem.ts';
import type { Core } from './core.ts';
import type { Actor, AuditType } from './model.ts';
import type { ConfigChange, RecordChange } from './ports.ts';

/** Changes of the folder of configs, as far as they are the orchestrator's business: that they are known. */
export function createConfigCalls(core: Core) {
  const note = (type: AuditType, { name, file, tag, bytes }: ConfigChange, actor: Actor): Promise<void> =>
    core.store.write(tx => {
      const details = { file, bytes, content: tag };
      tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'config', id: name }, details });
    });
  return {
    /**
     * Has `act` change the folder. What it is about to do stands in the audit trail before it is done, so that no change
     * goes unrecorded; one that fails after all is said to have failed.
     */
    async changeConfig(
      by: Actor,
      act: (record: RecordChange) => Promise<Outcome<ConfigChange>>,
    ): Promise<Outcome<ConfigChange>> {
      const announced: ConfigChange[] = [];
      const outcome = await act(async change => {
        await note(`config.${change.what}`, change, by);
        announced.push(change);
      });
      if (!outcome.ok) for (const change of announced) await note('config.change_failed', change, by);
      return outcome;
    },
  };
}
