import { usePanel } from '../../app/context.ts';
import { Permissions } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/time.tsx';

/**
 * Shows the signed-in user, the user's permissions, and a sign-out button. The desktop app has no session to end, so it
 * has no button.
 */
export function Account() {
  const t = useT();
  const { person, signOut } = usePanel();
  const { user, until } = person;
  return (
    <section className="card" aria-labelledby="settings-you">
      <h2 id="settings-you">{t('may.as', { user })}</h2>
      <p>
        {t('may.may')} <Permissions />
      </p>
      {until !== null && (
        <p className="muted">
          {t('may.until')} <Time at={until} style="absolute" />
        </p>
      )}
      {until !== null && (
        <div>
          <Button onClick={signOut}>{t('signOut')}</Button>
        </div>
      )}
    </section>
  );
}
