import { Link } from 'wouter';
import { useT } from '../i18n/index.ts';
import { Icon } from '../ui/icon.tsx';
import { usePanel } from './context.ts';

/** Who is signed in; Settings say what that one may do, and have the way out. */
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
