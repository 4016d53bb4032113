import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Command } from '../../ui/command.tsx';
import { Empty } from '../../ui/empty.tsx';

/** Explains how to upload data, for users who may do so. */
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
