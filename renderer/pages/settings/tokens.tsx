import KeyRound from 'lucide-react/icons/key-round';
import { useState } from 'react';
import { type TokenView, tokensApi } from '../../../protocol/tokens-api.ts';
import { usePanel, useLoaded } from '../../app/context.ts';
import { useVisibleNow } from '../../app/use-visible-now.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Time } from '../../ui/time.tsx';
import { showToast, showFailure } from '../../ui/toast.tsx';
import { NewTokenDialog } from './new-token.tsx';
import { useSettingsT } from './texts.tsx';
import './tokens.css';

/** Interval between reads, because no event reports changes of tokens. */
const readMs = 30_000;

/** Lists the API tokens with their permissions. */
export function Tokens() {
  const t = useT();
  const { value, reload } = useLoaded(tokensApi.list, undefined, String(useVisibleNow(readMs)));
  const tokens = value?.tokens ?? [];
  const [isAdding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<TokenView | null>(null);
  return (
    <section className="card" aria-labelledby="settings-tokens">
      <h2 id="settings-tokens">{t('tokens.title')}</h2>
      <p className="muted">{t('tokens.what')}</p>
      {tokens.length > 0 && (
        <ul className="plain-list settings-tokens">
          {tokens.map(token => (
            <li key={token.id}>
              <Token token={token} onRevoke={() => setRevoking(token)} />
            </li>
          ))}
        </ul>
      )}
      <div>
        <Button onClick={() => setAdding(true)}>{t('tokens.add')}</Button>
      </div>
      {isAdding && <NewTokenDialog onMade={reload} onClose={() => setAdding(false)} />}
      {revoking !== null && <Revoke token={revoking} onDone={reload} onClose={() => setRevoking(null)} />}
    </section>
  );
}

function Token({ token, onRevoke }: { readonly token: TokenView; readonly onRevoke: () => void }) {
  const t = useSettingsT();
  return (
    <div className="settings-access">
      <KeyRound size={20} strokeWidth={1.75} aria-hidden="true" />
      <div className="settings-access-about">
        <span className="settings-access-name">
          <strong translate="no">{token.name}</strong>
          {token.team !== null && (
            <span className="settings-access-mark">{t('topics.token.team', { team: token.team })}</span>
          )}
        </span>
        <ul className="settings-scopes">
          {token.permissions.map(name => (
            <li key={name} title={name}>
              {t(`tokens.may.${name}`)}
            </li>
          ))}
        </ul>
        <span className="settings-access-facts">
          <span>
            {t('tokens.used')} <Time at={token.last_used_at} />
          </span>
          <span>
            {token.expires_at === null ? (
              t('tokens.never')
            ) : (
              <>
                {t('tokens.expires')} <Time at={token.expires_at} />
              </>
            )}
          </span>
          <span>
            {t('topics.token.created', { by: token.created_by })} <Time at={token.created_at} />
          </span>
        </span>
      </div>
      <Button aria-label={t('tokens.revoke.of', { name: token.name })} onClick={onRevoke}>
        {t('tokens.revoke')}
      </Button>
    </div>
  );
}

interface RevokeProps {
  readonly token: TokenView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Revoke({ token: { id, name }, onDone, onClose }: RevokeProps) {
  const t = useT();
  const { client } = usePanel();
  const revoke = async (): Promise<void> => {
    const answer = await client.call(tokensApi.revoke, { params: { id } });
    if (!answer.ok) return showFailure(t, answer.failure);
    showToast(t('tokens.revoked', { name }));
    onDone();
  };
  return (
    <Confirm
      title={t('tokens.revoke.title', { name })}
      consequence={t('tokens.revoke.consequence')}
      act={t('tokens.revoke')}
      onConfirm={() => void revoke()}
      onClose={onClose}
    />
  );
}
