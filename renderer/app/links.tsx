import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { workersApi } from '../../protocol/admin-api.ts';
import type { Call } from '../../protocol/call.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { useMay } from './context.ts';

interface ThingLinkProps {
  readonly id: string;
  readonly title?: string | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

/** To its page; its name alone for who may not open that. */
export const WorkerLink = (props: ThingLinkProps) => (
  <ThingLink {...props} call={workersApi.get} href={`/workers/${props.id}`} />
);

export const JobLink = (props: ThingLinkProps) => (
  <ThingLink {...props} call={queueApi.get} href={`/jobs/${props.id}`} />
);

function ThingLink({
  call,
  href,
  title,
  className,
  children,
}: ThingLinkProps & { readonly call: Call; readonly href: string }) {
  const may = useMay();
  if (may(call))
    return (
      <Link href={href} title={title} className={className}>
        {children}
      </Link>
    );
  return (
    <span title={title} className={className}>
      {children}
    </span>
  );
}
