import { useState } from 'react';
import type { ChannelView } from '../../../../protocol/notification.ts';
import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { Copy } from '../../../ui/button.tsx';
import { Dialog, DialogForm } from '../../../ui/dialog.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { Choice, Field, Tick } from '../../jobs/field.tsx';
import {
  type FieldSpec,
  fields,
  type Kind,
  kinds,
  newSecret,
  securities,
  startValues,
  toTarget,
  type Values,
} from './draft.ts';
import { useNotifyT } from './texts.tsx';

interface ChannelFormProps {
  /** The channel to change; null for a new channel. */
  readonly channel: ChannelView | null;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Creates a channel, or changes its name. To change its target, the user must enter the target and all secrets again. */
export function ChannelForm({ channel, onDone, onClose }: ChannelFormProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  const [name, setName] = useState(channel?.name ?? '');
  const [kind, setKind] = useState<Kind>(kinds.find(each => each === channel?.kind) ?? 'discord');
  const [values, setValues] = useState(() => startValues(newSecret()));
  const [replaces, setReplaces] = useState(channel === null);
  const save = async (): Promise<string | null> => {
    const target = toTarget(kind, values);
    const answer =
      channel === null
        ? await client.call(notificationsApi.createChannel, { body: { name: name.trim(), target } })
        : await client.call(notificationsApi.updateChannel, {
            params: { id: channel.channel_id },
            body: { name: name.trim(), ...(replaces && { target }) },
          });
    if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    onDone();
    onClose();
    return null;
  };
  const put = (field: string, value: string): void =>
    setValues(was => ({ ...was, [`${kind}.${field}`]: value }));
  return (
    <Dialog
      title={channel === null ? t('notify.channels.add') : t('notify.form.edit', { name: channel.name })}
      onClose={onClose}
      staysOpen
    >
      <DialogForm
        act={t(channel === null ? 'notify.form.create' : 'notify.form.save')}
        send={save}
        onClose={onClose}
      >
        <Field label={t('notify.form.name')}>
          {tied => (
            <input
              {...tied}
              required
              maxLength={60}
              autoComplete="off"
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        {channel !== null && channel.kind !== 'webpush' && (
          <>
            <p className="muted">{t('notify.form.hidden')}</p>
            <Tick label={t('notify.form.replace')} isOn={replaces} onChange={setReplaces} />
          </>
        )}
        {replaces && (
          <>
            <Choice
              label={t('notify.form.kind')}
              value={kind}
              choices={kinds.map(each => [each, t(`notify.kind.${each}`)] as const)}
              onChange={setKind}
            />
            {fields[kind].map(spec => (
              <TargetField key={`${kind}.${spec.name}`} {...{ kind, spec, values, put }} />
            ))}
          </>
        )}
      </DialogForm>
    </Dialog>
  );
}

interface TargetFieldProps {
  readonly kind: Kind;
  readonly spec: FieldSpec;
  readonly values: Values;
  readonly put: (field: string, value: string) => void;
}

function TargetField({ kind, spec: { name, label, hint, type, isOptional }, values, put }: TargetFieldProps) {
  const t = useNotifyT();
  const value = values[`${kind}.${name}`] ?? '';
  if (type === 'security')
    return (
      <Choice
        label={t(label)}
        value={securities.find(each => each === value) ?? 'tls'}
        choices={securities.map(each => [each, t(`notify.form.security.${each}`)] as const)}
        onChange={chosen => put(name, chosen)}
      />
    );
  return (
    <Field label={t(label)} hint={hint === undefined ? undefined : t(hint)}>
      {tied => (
        <span className="notify-field">
          <input
            {...tied}
            type={type === 'secret' ? 'password' : 'text'}
            inputMode={type === 'number' ? 'numeric' : undefined}
            required={isOptional !== true}
            // Prevents browsers from filling in the password of this page.
            autoComplete={type === 'secret' ? 'new-password' : 'off'}
            spellCheck={false}
            value={value}
            onChange={({ target }) => put(name, target.value)}
          />
          {name === 'signing_secret' && (
            <Copy
              text={value}
              label={t('notify.form.secret.copy')}
              onFailed={() => showToast(t('workers.copy.byHand'))}
            />
          )}
        </span>
      )}
    </Field>
  );
}
