import type { ValueOf } from '../../../protocol/client.ts';
import type { datasetsApi } from '../../../protocol/datasets-api.ts';
import { useT } from '../../i18n/index.ts';
import { sizeText } from '../jobs/figures.ts';
import { unusedOf } from './datasets.ts';

/** Shows how much is stored, and how much of it could be deleted. */
export function Figures({ answer }: { readonly answer: ValueOf<typeof datasetsApi.list> }) {
  const t = useT();
  const { datasets, stored_bytes: stored, limit_bytes: limit } = answer;
  const unused = unusedOf(datasets, stored);
  const size = sizeText(stored, t.language);
  return (
    <dl className="data-figures">
      <div>
        <dt>{t('data.figure.stored')}</dt>
        <dd>
          {limit === null ? size : t('data.figure.storedOf', { size, limit: sizeText(limit, t.language) })}
        </dd>
      </div>
      <div>
        <dt>{t('data.figure.unused')}</dt>
        <dd title={t('data.figure.unused.what')}>
          {t('data.figure.unusedIs', { count: unused.count, size: sizeText(unused.bytes, t.language) })}
        </dd>
      </div>
    </dl>
  );
}
