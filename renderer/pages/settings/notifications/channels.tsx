import { useState } from 'react';
import type { ChannelView } from '../../../../protocol/notification.ts';
import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { ChannelForm } from './channel-form.tsx';
import { DeleteEntry, EntryMenu } from './entry.tsx';
import { useNotifyT } from './texts.tsx';

interface ChannelsProps {
  /** Null until the channels have loaded. */
  readonly channels: readonly ChannelView[] | null;
  readonly onChange: () => void;
}

type Opened =
  | { readonly kind: 'new' }
  | { readonly kind: 'edit' | 'delete'; readonly channel: ChannelView }
  | null;

/** Lists the channels. The list contains no secrets, because the server never returns them. */
export function Channels({ channels, onChange }: ChannelsProps) {
  const t = useNotifyT();
  const [opened, setOpened] = useState<Opened>(null);
  const close = (): void => setOpened(null);
  return (
    <div className="notify-part">
      <h3>{t('notify.channels')}</h3>
      {channels?.length === 0 && <p className="muted">{t('notify.channels.none')}</p>}
      <ul className="plain-list notify-list">
        {channels?.map(channel => (
          <li key={channel.channel_id}>
            <Channel
              channel={channel}
              onChange={onChange}
              onEdit={() => setOpened({ kind: 'edit', channel })}
              onDelete={() => setOpened({ kind: 'delete', channel })}
            />
          </li>
        ))}
      </ul>
      <div>
        <Button onClick={() => setOpened({ kind: 'new' })}>{t('notify.channels.add')}</Button>
      </div>
      {opened?.kind === 'new' && <ChannelForm channel={null} onDone={onChange} onClose={close} />}
      {opened?.kind === 'edit' && <ChannelForm channel={opened.channel} onDone={onChange} onClose={close} />}
      {opened?.kind === 'delete' && (
        <DeleteChannel channel={opened.channel} onDone={onChange} onClose={close} />
      )}
    </div>
  );
}

interface ChannelProps {
  readonly channel: ChannelView;
  readonly onChange: () => void;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function Channel({ channel, onChange, onEdit, onDelete }: ChannelProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  const { channel_id: id, name, kind, host, recipients, enabled, pending } = channel;
  const [outcome, setOutcome] = useState<Outcome>('none');
  const test = async (): Promise<void> => {
    setOutcome('busy');
    const answer = await client.call(notificationsApi.testChannel, { params: { id } });
    if (answer.ok) setOutcome(answer.value);
    else {
      setOutcome('none');
      showFailure(t, answer.failure);
    }
  };
  const toggleEnabled = async (): Promise<void> => {
    const answer = await client.call(notificationsApi.updateChannel, {
      params: { id },
      body: { enabled: !enabled },
    });
    if (!answer.ok) showFailure(t, answer.failure);
    onChange();
  };
  const isBusy = outcome === 'busy';
  return (
    <div className="notify-row">
      <span className="notify-main">
        <strong translate="no">{name}</strong>
        <span className="chip">{t(`notify.kind.${kind}`)}</span>
        {!enabled && <span className="chip notify-off">{t('notify.channel.off')}</span>}
        <span className="muted notify-host" translate="no">
          {[host, ...recipients].join(' · ')}
        </span>
        {pending > 0 && <span className="muted">{t('notify.channel.pending', { count: pending })}</span>}
      </span>
      <span className="notify-acts">
        <Button
          aria-label={isBusy ? undefined : t('notify.test.of', { name })}
          aria-disabled={isBusy}
          onClick={() => {
            if (!isBusy) void test();
          }}
        >
          {t(isBusy ? 'notify.test.busy' : 'notify.test')}
        </Button>
        <EntryMenu
          label={t('notify.channel.menu', { name })}
          enabled={enabled}
          onEdit={onEdit}
          onToggle={() => void toggleEnabled()}
          onDelete={onDelete}
        />
      </span>
      <TestResult name={name} outcome={outcome} />
    </div>
  );
}

export type Outcome = 'none' | 'busy' | { readonly ok: boolean; readonly detail: string };

/** The result of a test message. It stays until the next test. */
export function TestResult({ name, outcome }: { readonly name: string; readonly outcome: Outcome }) {
  const t = useNotifyT();
  if (typeof outcome === 'string') return null;
  const { ok, detail } = outcome;
  return (
    <p role="status" className={`notify-result ${ok ? 'notify-good' : 'trouble'}`}>
      {t(ok ? 'notify.test.ok' : 'notify.test.failed', { name, detail })}
    </p>
  );
}

interface DeleteChannelProps {
  readonly channel: ChannelView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function DeleteChannel({ channel: { channel_id: id, name }, ...listeners }: DeleteChannelProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  return (
    <DeleteEntry
      title={t('notify.channel.delete', { name })}
      consequence={t('notify.channel.delete.consequence')}
      remove={() => client.call(notificationsApi.removeChannel, { params: { id } })}
      {...listeners}
    />
  );
}
