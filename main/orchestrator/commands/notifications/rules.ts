import type { RuleId } from '../../../../protocol/ids.ts';
import type { NewRule, RuleView } from '../../../../protocol/notification.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import type { Actor } from '../../model.ts';
import type { Rule, Tx } from '../../ports/index.ts';
import { ruleView } from '../../views/notification-views.ts';
import { noteChannel, unknownChannel } from './channels.ts';

const unknownRule = (id: RuleId) => refuse('rule_not_found', `There is no notification rule ${id}`);

const maxRules = 200;

const ruleOf = (id: RuleId, request: NewRule): Rule => ({
  id,
  channelId: request.channel_id,
  events: request.events,
  user: request.user,
  tag: request.tag,
  stalledMinutes: request.stalled_minutes,
  enabled: request.enabled,
});

/** Counts all rules except those that notify a browser; these have a separate limit. */
function countRules(tx: Tx): number {
  return tx.notificationRules().filter(({ channelId }) => tx.channel(channelId)?.subscriber === null).length;
}

/** API calls with which users manage notification rules. */
export function createRuleCalls(core: Core) {
  const put = (
    tx: Tx,
    rule: Rule,
    type: 'notification.rule_created' | 'notification.rule_changed',
    by: Actor,
  ) => {
    const channel = tx.channel(rule.channelId);
    if (channel === null) return unknownChannel(rule.channelId);
    tx.putNotificationRule(rule);
    const { events, user, tag, enabled } = rule;
    noteChannel(core, tx, type, channel, by, { rule_id: rule.id, events, user, tag, enabled });
    return accept(ruleView(tx, rule));
  };
  return {
    listRules: (): readonly RuleView[] =>
      core.store.notificationRules().map(rule => ruleView(core.store, rule)),

    createRule: (request: NewRule, by: Actor): Promise<Outcome<RuleView>> =>
      core.store.write(tx =>
        countRules(tx) >= maxRules
          ? refuse('invalid_request', `There can be at most ${maxRules} rules: delete one first`)
          : put(tx, ruleOf(core.ids.rule(), request), 'notification.rule_created', by),
      ),

    updateRule: (id: RuleId, request: NewRule, by: Actor): Promise<Outcome<RuleView>> =>
      core.store.write(tx =>
        tx.notificationRules().some(rule => rule.id === id)
          ? put(tx, ruleOf(id, request), 'notification.rule_changed', by)
          : unknownRule(id),
      ),

    removeRule: (id: RuleId, by: Actor): Promise<Outcome<{ readonly success: true }>> =>
      core.store.write(tx => {
        const rule = tx.notificationRules().find(each => each.id === id);
        const channel = rule === undefined ? null : tx.channel(rule.channelId);
        if (channel === null) return unknownRule(id);
        tx.removeNotificationRule(id);
        noteChannel(core, tx, 'notification.rule_deleted', channel, by, { rule_id: id });
        return accept({ success: true as const });
      }),
  };
}
