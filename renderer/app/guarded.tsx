import { type ReactNode, useMemo } from 'react';
import { type Authority, type Call, type Permission, permissions } from '../../protocol/call.ts';
import type { JobView } from '../../protocol/job.ts';
import { type May, shownPermissions } from '../api/session.ts';
import { type MessageKey, useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import { PanelProvider, useMay, usePanel } from './context.ts';
import type { Access } from './pages.ts';

interface GuardedProps {
  /** The page is shown to users who may make at least one of these calls. An empty list means everyone. */
  readonly calls: readonly Access[];
  /** Title of the page, shown above the notice about the missing permission. */
  readonly title: MessageKey;
  /** A button for users without access, below the notice. */
  readonly otherAction?: ReactNode;
  readonly children: ReactNode;
}

/**
 * Shows a page to users who may make one of its calls. Other users see which permission is missing and who can grant
 * it.
 */
export function Guarded({ calls, title, otherAction, children }: GuardedProps) {
  const t = useT();
  const may = useMay();
  const [first] = calls;
  if (first === undefined || calls.some(call => may(call))) return children;
  return (
    <div className="page">
      <h1>{t(title)}</h1>
      <Missing call={first}>{otherAction}</Missing>
    </div>
  );
}

interface ForJobProps {
  readonly job: Pick<JobView, 'user'>;
  readonly children: ReactNode;
}

const forJob =
  (may: May, user: string): May =>
  (row, job = { user }) =>
    may(row, job);

/** Makes permission checks in the children apply to this job. */
export function ForJob({ job: { user }, children }: ForJobProps) {
  const panel = usePanel();
  const inside = useMemo(() => ({ ...panel, may: forJob(panel.may, user) }), [panel, user]);
  return <PanelProvider value={inside}>{children}</PanelProvider>;
}

interface AllowedProps {
  readonly call: Call;
  readonly children: ReactNode;
}

/** Shows an action only to users who may make its call. */
export function Allowed({ call, children }: AllowedProps) {
  return useMay()(call) && children;
}

type CallPermission = Extract<Authority, Permission>;

const isPermission = (authority: Authority): authority is CallPermission =>
  permissions.some(each => each === authority);

/**
 * Returns the narrowest permission that allows the call; null when no permission does. For a call on one job, this is
 * the full permission, because the job may belong to another user.
 */
function requiredPermission({ authority, own }: Access): Permission | null {
  const limited = permissions.find(each => each === `${authority}.own`);
  if (limited !== undefined && (own === 'shared' || own === 'filtered')) return limited;
  return isPermission(authority) ? authority : null;
}

interface HiddenProps {
  readonly call: Call;
  /** The page whose content is hidden. */
  readonly page: MessageKey;
}

/** A notice that names the missing content, on a page that remains useful without that content. */
export function Hidden({ call, page }: HiddenProps) {
  const t = useT();
  const permission = requiredPermission(call);
  if (permission === null) return null;
  return <p className="muted">{t('may.hidden', { page: t(page), what: t(`tokens.may.${permission}`) })}</p>;
}

interface MissingProps {
  readonly call: Access;
  /** Further buttons, shown before the sign-out button. */
  readonly children?: ReactNode;
}

/** Shows which permission a call needs, who can grant it, and who is signed in. */
export function Missing({ call, children }: MissingProps) {
  const t = useT();
  const { person, signOut } = usePanel();
  const permission = requiredPermission(call);
  if (permission === null) return null;
  return (
    <section className="card missing">
      <p>{t('may.missing', { what: t(`tokens.may.${permission}`), permission })}</p>
      <p>{t('may.as', { user: person.user })}</p>
      <p>
        {t('may.may')} <Permissions />
      </p>
      <p className="muted">{t('may.ask')}</p>
      <pre className="mono">
        trainyard tokens create NAME --allow {[...person.permissions, permission].join(',')}
      </pre>
      <div className="missing-acts">
        {children}
        <Button onClick={signOut}>{t('may.other')}</Button>
      </div>
    </section>
  );
}

/** Describes the permissions of the signed-in user. */
export function Permissions() {
  const t = useT();
  const { person } = usePanel();
  return shownPermissions(person.permissions)
    .map(name => t(`tokens.may.${name}`))
    .join(' · ');
}
