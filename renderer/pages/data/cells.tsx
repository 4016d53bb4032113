import type { DatasetView } from '../../../protocol/datasets-api.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Icon } from '../../ui/icon.tsx';
import { sizeText } from '../jobs/figures.ts';
import { namesText, rigsWith } from './rigs.ts';

const countFormat = perLanguage(language => new Intl.NumberFormat(language));

export function Count({ value }: { readonly value: number }) {
  return countFormat(useT().language).format(value);
}

export function Size({ bytes }: { readonly bytes: number }) {
  return sizeText(bytes, useT().language);
}

/** Shortens a version to the length that the CLI shows. */
export const shortVersion = (version: string): string => version.slice(0, 12);

export const Version = ({ version }: Pick<DatasetView, 'version'>) => (
  <code className="mono" title={version}>
    {shortVersion(version)}
  </code>
);

/** Shows which rigs have a version. The tooltip also names the rigs that do not have the version. */
export function Rigs({ dataset }: { readonly dataset: DatasetView }) {
  const t = useT();
  const fleet = useFleet(state => state.fleet.workers);
  const places = rigsWith(dataset, fleet);
  if (places === null) return t('time.none');
  const { names, count, missing } = places;
  const all = missing === null ? fleet.size : count + missing.length;
  const title = [
    ...(count > 0 ? [t('data.rigs.on', { names: names.join(', ') })] : []),
    ...(missing !== null && missing.length > 0
      ? [t('data.rigs.missing', { names: missing.join(', ') })]
      : []),
  ].join('\n');
  return (
    <span className="data-name" title={title}>
      <span>{t('data.rigs', { count, all })}</span>
      {count > 0 && (
        <span className="muted" translate="no">
          {namesText(names, count, t)}
        </span>
      )}
    </span>
  );
}

export function Pinned({ text }: { readonly text: string }) {
  return (
    <span className="data-pinned">
      <Icon name="pin" />
      {text}
    </span>
  );
}
