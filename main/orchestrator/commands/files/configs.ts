import type { Outcome } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import type { Actor } from '../../model.ts';
import type { AuditType } from '../../events.ts';
import type { ConfigChange, RecordChange } from '../../ports/index.ts';

/** Records changes of the config folder in the audit trail. */
export function createConfigCalls(core: Core) {
  const note = (type: AuditType, { name, file, tag, bytes }: ConfigChange, actor: Actor): Promise<void> =>
    core.store.write(tx => {
      const details = { file, bytes, content: tag };
      tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'config', id: name }, details });
    });
  return {
    /**
     * Runs a change of the config folder. `act` must call `record` before it makes a change, so that no change is
     * unrecorded. If the change then fails, a `config.change_failed` row follows.
     */
    async changeConfig(
      by: Actor,
      act: (record: RecordChange) => Promise<Outcome<ConfigChange>>,
    ): Promise<Outcome<ConfigChange>> {
      const recorded: ConfigChange[] = [];
      const outcome = await act(async change => {
        await note(`config.${change.what}`, change, by);
        recorded.push(change);
      });
      if (!outcome.ok) for (const change of recorded) await note('config.change_failed', change, by);
      return outcome;
    },
  };
}
