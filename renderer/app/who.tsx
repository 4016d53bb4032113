import { Link } from 'wouter';
import { useT } from '../i18n/index.ts';
import { Icon } from '../ui/icon.tsx';
import { usePanel } from './context.ts';

/** Shows who is signed in. The settings page lists the permissions and has the sign-out button. */
export function Who() {
  const t = useT();
  const { user } = usePanel().person;
  const text = t('may.as', { user });
  return (
    <Link href="/settings" className="who" aria-label={text} title={text}>
      <Icon name="person" />
      <span translate="no">{user}</span>
    </Link>
  );
}
