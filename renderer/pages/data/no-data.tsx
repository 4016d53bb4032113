import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Command } from '../../ui/command.tsx';
import { Empty } from '../../ui/empty.tsx';

/** How data gets here, for those who may send it. */
export function NoData() {
  const t = useT();
  return (
    <Empty why={t('data.none')}>
      <Allowed call={datasetsApi.publish}>
        <p>{t('data.none.submit')}</p>
        <Command text="trainyard jobs submit FILE" />
        <p>{t('data.none.push')}</p>
        <Command text="trainyard data push FOLDER" />
      </Allowed>
    </Empty>
  );
}
