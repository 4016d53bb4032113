import { workersApi } from '../../../protocol/admin-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { useStart } from './acts.ts';
import { SampleOffer } from './sample-offer.tsx';

export function EmptyFleet() {
  const t = useT();
  const start = useStart();
  return (
    <Empty why={t('workers.empty')}>
      <div className="worker-first-acts">
        <Allowed call={workersApi.create}>
          <Button kind="primary" onClick={() => start({ kind: 'join' })}>
            {t('workers.join')}
          </Button>
        </Allowed>
        <SampleOffer />
      </div>
    </Empty>
  );
}

export function NoneFits({ onClear }: { readonly onClear: () => void }) {
  const t = useT();
  return (
    <Empty why={t('workers.empty.filter')}>
      <Button onClick={onClear}>{t('workers.filter.clear')}</Button>
    </Empty>
  );
}
