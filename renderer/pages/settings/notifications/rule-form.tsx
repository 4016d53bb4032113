import { useState } from 'react';
import {
  type ChannelView,
  type NotificationEvent,
  notificationEvents,
  type RuleView,
} from '../../../../protocol/notification.ts';
import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { Dialog, DialogForm } from '../../../ui/dialog.tsx';
import { Choice, Field, TextField } from '../../jobs/field.tsx';
import { EventChoice } from './event-choice.tsx';
import { useNotifyT } from './texts.tsx';

interface RuleFormProps {
  /** The rule to change; null for a new rule. */
  readonly rule: RuleView | null;
  readonly channels: readonly ChannelView[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const defaultEvents: readonly NotificationEvent[] = ['job_completed', 'job_failed'];

export function RuleForm({ rule, channels, onDone, onClose }: RuleFormProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  const [channel, setChannel] = useState<string>(rule?.channel_id ?? channels[0]?.channel_id ?? '');
  const [events, setEvents] = useState(rule?.events ?? defaultEvents);
  const [user, setUser] = useState(rule?.user ?? '');
  const [tag, setTag] = useState(rule?.tag ?? '');
  const [minutes, setMinutes] = useState(String(rule?.stalled_minutes ?? 30));
  const save = async (): Promise<string | null> => {
    const chosen = channels.find(({ channel_id: id }) => id === channel);
    if (chosen === undefined) return t('notify.rules.needChannel');
    const body = {
      channel_id: chosen.channel_id,
      events: [...events],
      user: user.trim() || null,
      tag: tag.trim() || null,
      stalled_minutes: Number(minutes),
      enabled: rule?.enabled ?? true,
    };
    const answer =
      rule === null
        ? await client.call(notificationsApi.createRule, { body })
        : await client.call(notificationsApi.updateRule, { params: { id: rule.rule_id }, body });
    if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    onDone();
    onClose();
    return null;
  };
  return (
    <Dialog title={t(rule === null ? 'notify.rules.add' : 'notify.rules.edit')} onClose={onClose} staysOpen>
      <DialogForm
        act={t(rule === null ? 'notify.rule.create' : 'notify.form.save')}
        send={save}
        onClose={onClose}
        isReady={events.length > 0}
      >
        <Choice
          label={t('notify.rule.channel')}
          value={channel}
          choices={channels.map(({ channel_id: id, name }) => [id, name] as const)}
          onChange={setChannel}
        />
        <EventChoice offered={notificationEvents} chosen={events} onChange={setEvents} />
        <Filter label={t('notify.rule.onlyUser')} value={user} onChange={setUser} />
        <Filter label={t('notify.rule.onlyTag')} value={tag} onChange={setTag} />
        {events.includes('no_progress') && (
          <TextField label={t('notify.rule.stalled')} value={minutes} onChange={setMinutes} isNumber />
        )}
      </DialogForm>
    </Dialog>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A text field for a filter. An empty filter matches everything. */
export function Filter({ label, value, onChange }: FilterProps) {
  const t = useNotifyT();
  return (
    <Field label={label} hint={t('notify.rule.onlyNote')}>
      {tied => (
        <input
          {...tied}
          autoComplete="off"
          spellCheck={false}
          placeholder={t('notify.rule.any')}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
