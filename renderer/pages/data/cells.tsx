import type { DatasetView } from '../../../protocol/datasets-api.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { useT } from '../../i18n/index.ts';
import { Icon } from '../../ui/icon.tsx';
import { sizeText } from '../jobs/figures.ts';

const countFormat = perLanguage(language => new Intl.NumberFormat(language));

export function Count({ value }: { readonly value: number }) {
  return countFormat(useT().language).format(value);
}

export function Size({ bytes }: { readonly bytes: number }) {
  return sizeText(bytes, useT().language);
}

/** Shortens a version to the length that the command line shows. */
export const shortVersion = (version: string): string => version.slice(0, 12);

export const Version = ({ version }: Pick<DatasetView, 'version'>) => (
  <code className="mono" title={version}>
    {shortVersion(version)}
  </code>
);

export function Pinned({ text }: { readonly text: string }) {
  return (
    <span className="data-pinned">
      <Icon name="pin" />
      {text}
    </span>
  );
}
