import { useState } from 'react';
import type { ChannelView, RuleView } from '../../../../protocol/notification.ts';
import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { DeleteEntry, EntryMenu } from './entry.tsx';
import { RuleForm } from './rule-form.tsx';
import { useNotifyT } from './texts.tsx';

interface RulesProps {
  readonly channels: readonly ChannelView[];
  /** Null until the rules have loaded. */
  readonly rules: readonly RuleView[] | null;
  readonly onChange: () => void;
}

type Opened = { readonly kind: 'new' } | { readonly kind: 'edit' | 'delete'; readonly rule: RuleView } | null;

/** Lists the rules. A rule sends certain events to a channel. */
export function Rules({ channels, rules, onChange }: RulesProps) {
  const t = useNotifyT();
  const [opened, setOpened] = useState<Opened>(null);
  const close = (): void => setOpened(null);
  const formFor = (rule: RuleView | null) => (
    <RuleForm rule={rule} channels={channels} onDone={onChange} onClose={close} />
  );
  return (
    <div className="notify-part">
      <h3>{t('notify.rules')}</h3>
      {rules?.length === 0 && (
        <p className="muted">{t(channels.length === 0 ? 'notify.rules.needChannel' : 'notify.rules.none')}</p>
      )}
      <ul className="plain-list notify-list">
        {rules?.map(rule => (
          <li key={rule.rule_id}>
            <Rule
              rule={rule}
              onChange={onChange}
              onEdit={() => setOpened({ kind: 'edit', rule })}
              onDelete={() => setOpened({ kind: 'delete', rule })}
            />
          </li>
        ))}
      </ul>
      {channels.length > 0 && (
        <div>
          <Button onClick={() => setOpened({ kind: 'new' })}>{t('notify.rules.add')}</Button>
        </div>
      )}
      {opened?.kind === 'new' && formFor(null)}
      {opened?.kind === 'edit' && formFor(opened.rule)}
      {opened?.kind === 'delete' && <DeleteRule rule={opened.rule} onDone={onChange} onClose={close} />}
    </div>
  );
}

interface RuleProps {
  readonly rule: RuleView;
  readonly onChange: () => void;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function Rule({ rule, onChange, onEdit, onDelete }: RuleProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  const { rule_id: id, channel_name: channel, events, user, tag, stalled_minutes: minutes, enabled } = rule;
  const toggleEnabled = async (): Promise<void> => {
    const { rule_id: _id, channel_name: _name, ...settings } = rule;
    const body = { ...settings, enabled: !enabled };
    const answer = await client.call(notificationsApi.updateRule, { params: { id }, body });
    if (!answer.ok) showFailure(t, answer.failure);
    onChange();
  };
  const limits = [
    ...(user === null ? [] : [t('notify.rule.user', { user })]),
    ...(tag === null ? [] : [t('notify.rule.tag', { tag })]),
    ...(events.includes('no_progress') ? [t('notify.rule.minutes', { count: minutes })] : []),
  ];
  return (
    <div className="notify-row">
      <span className="notify-main">
        {events.map(event => (
          <span key={event} className="chip">
            {t(`notify.event.${event}`)}
          </span>
        ))}
        <span aria-hidden="true">→</span>
        <strong translate="no">{channel}</strong>
        {!enabled && <span className="chip notify-off">{t('notify.rule.off')}</span>}
        <span className="muted">{limits.length === 0 ? t('notify.rule.all') : limits.join(' · ')}</span>
      </span>
      <span className="notify-acts">
        <EntryMenu
          label={t('notify.rule.menu', { channel })}
          enabled={enabled}
          onEdit={onEdit}
          onToggle={() => void toggleEnabled()}
          onDelete={onDelete}
        />
      </span>
    </div>
  );
}

interface DeleteRuleProps {
  readonly rule: RuleView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function DeleteRule({ rule: { rule_id: id, channel_name: channel }, ...listeners }: DeleteRuleProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  return (
    <DeleteEntry
      title={t('notify.rule.delete', { channel })}
      consequence={t('notify.rule.delete.consequence')}
      remove={() => client.call(notificationsApi.removeRule, { params: { id } })}
      {...listeners}
    />
  );
}
