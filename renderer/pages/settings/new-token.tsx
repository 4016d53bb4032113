import { useState } from 'react';
import { mayGrant, ownPermissions, type Permission, permissions } from '../../../protocol/call.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { detailOf } from '../../api/session.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button, Copy } from '../../ui/button.tsx';
import { Dialog, DialogForm } from '../../ui/dialog.tsx';
import { showToast } from '../../ui/toast.tsx';

interface NewTokenProps {
  readonly onMade: () => void;
  readonly onClose: () => void;
}

const daysToLive = ['30', '90', '365', 'never'] as const;
const dayS = 86_400;

/** Asks for a name and permissions; offers only those that the user may grant. Then shows the new token once. */
export function NewTokenDialog({ onMade, onClose }: NewTokenProps) {
  const t = useT();
  const [created, setCreated] = useState<{ readonly name: string; readonly token: string } | null>(null);
  if (created === null)
    return (
      <TokenForm
        onClose={onClose}
        onMade={token => {
          setCreated(token);
          onMade();
        }}
      />
    );
  return (
    <Dialog title={t('tokens.made', { name: created.name })} onClose={onClose} staysOpen>
      <p className="notice" role="note">
        {t('tokens.once')}
      </p>
      <pre className="mono settings-secret">{created.token}</pre>
      <footer className="dialog-foot">
        <Copy
          text={created.token}
          label={t('tokens.copy')}
          onFailed={() => showToast(t('workers.copy.byHand'))}
        />
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

const isOwn = (permission: Permission): boolean => ownPermissions.some(own => own === permission);

const groups = [
  { title: 'tokens.mayOwn', members: ownPermissions },
  { title: 'tokens.mayAll', members: permissions.filter(each => !isOwn(each)) },
] as const;

interface TokenFormProps {
  readonly onMade: (made: { readonly name: string; readonly token: string }) => void;
  readonly onClose: () => void;
}

function TokenForm({ onMade, onClose }: TokenFormProps) {
  const t = useT();
  const { client, person } = usePanel();
  const [name, setName] = useState('');
  const isGrantable = (each: Permission): boolean => mayGrant(person.permissions, each);
  const [chosen, setChosen] = useState<readonly Permission[]>(ownPermissions.filter(isGrantable));
  const [days, setDays] = useState<(typeof daysToLive)[number]>('90');
  const create = async (): Promise<string | null> => {
    const expiresInS = days === 'never' ? null : Number(days) * dayS;
    const body = { name: name.trim(), permissions: [...chosen], expires_in_s: expiresInS };
    const answer = await client.call(tokensApi.create, { body });
    if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    onMade(answer.value);
    return null;
  };
  const toggle = (permission: Permission): void =>
    setChosen(was =>
      was.includes(permission) ? was.filter(each => each !== permission) : [...was, permission],
    );
  return (
    <Dialog title={t('tokens.new')} onClose={onClose}>
      <DialogForm act={t('tokens.create')} send={create} onClose={onClose} isReady={chosen.length > 0}>
        <label>
          {t('tokens.name')}
          <input
            required
            maxLength={60}
            autoComplete="off"
            placeholder="nightly"
            value={name}
            onChange={event => setName(event.target.value)}
          />
        </label>
        {groups.map(({ title, members }) => (
          <fieldset key={title} className="settings-permissions">
            <legend>{t(title)}</legend>
            {members.filter(isGrantable).map(permission => (
              <label key={permission} className="inline-label">
                <input
                  type="checkbox"
                  checked={chosen.includes(permission)}
                  onChange={() => toggle(permission)}
                />
                {t(`tokens.may.${permission}`)} <code className="muted">{permission}</code>
              </label>
            ))}
          </fieldset>
        ))}
        <label>
          {t('tokens.lasts')}
          <select
            value={days}
            onChange={event => setDays(daysToLive.find(each => each === event.target.value) ?? '90')}
          >
            {daysToLive.map(each => (
              <option key={each} value={each}>
                {each === 'never' ? t('tokens.never') : t('tokens.days', { count: Number(each) })}
              </option>
            ))}
          </select>
        </label>
      </DialogForm>
    </Dialog>
  );
}
