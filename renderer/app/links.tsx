import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { workersApi } from '../../protocol/admin-api.ts';
import { datasetsApi } from '../../protocol/datasets-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { useT } from '../i18n/index.ts';
import { useMay } from './context.ts';
import type { Access } from './pages.ts';

interface ThingLinkProps {
  readonly id: string;
  readonly title?: string | undefined;
  /** The name for screen readers, when the text of the link is shortened. */
  readonly label?: string;
  readonly className?: string;
  readonly children: ReactNode;
}

interface WorkerLinkProps extends ThingLinkProps {
  readonly isDeleted?: boolean;
}

/**
 * Links to the page of a worker. Shows the name without a link when the worker is deleted or the user may not open its
 * page.
 */
export function WorkerLink({ isDeleted = false, ...props }: WorkerLinkProps) {
  const t = useT();
  if (!isDeleted) return <ThingLink {...props} call={workersApi.get} href={`/workers/${props.id}`} />;
  return (
    <span title={props.title} className={props.className}>
      {props.children} <span className="muted">{t('workers.deleted')}</span>
    </span>
  );
}

export const JobLink = (props: ThingLinkProps) => (
  <ThingLink {...props} call={queueApi.get} href={`/jobs/${props.id}`} />
);

/**
 * Links to a pool. The permission is written here, because importing `poolsApi` would add its schemas to the first
 * page's code.
 */
export const PoolLink = (props: ThingLinkProps) => (
  <ThingLink {...props} call={{ authority: 'admin.pools' }} href={`/pools/${props.id}`} />
);

/** Links to a dataset. `id` may be the id of any version of the dataset. */
export const DatasetLink = (props: ThingLinkProps) => (
  <ThingLink {...props} call={datasetsApi.list} href={`/data/${props.id}`} />
);

function ThingLink({
  call,
  href,
  title,
  label,
  className,
  children,
}: ThingLinkProps & { readonly call: Access; readonly href: string }) {
  const may = useMay();
  if (may(call))
    return (
      <Link href={href} title={title} aria-label={label} className={className}>
        {children}
      </Link>
    );
  return (
    <span title={title} className={className}>
      {children}
    </span>
  );
}
