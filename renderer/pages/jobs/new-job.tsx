import { Link } from 'wouter';
import { queueApi } from '../../../protocol/queue-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';

/** A link to the submit form, for users who may submit. */
export function NewJob({ kind }: { readonly kind: 'plain' | 'primary' }) {
  const t = useT();
  return (
    <Allowed call={queueApi.submit}>
      <Link href="/jobs/new" className={`button button-${kind}`}>
        {t('jobs.new')}
      </Link>
    </Allowed>
  );
}
