import { useT } from '../i18n/index.ts';

interface ShareTermsProps {
  readonly withTls: boolean;
  /** A flag says it. */
  readonly isTlsFixed: boolean;
  readonly onChange: (withTls: boolean) => void;
}

/** What is to be decided before other machines reach the orchestrator: how it speaks with them. */
export function ShareTerms({ withTls, isTlsFixed, onChange }: ShareTermsProps) {
  const t = useT();
  return (
    <>
      <p>{t('settings.share.what')}</p>
      {!isTlsFixed && (
        <label className="inline-label">
          <input type="checkbox" checked={withTls} onChange={() => onChange(!withTls)} />
          {t('settings.share.tls')}
        </label>
      )}
      {!withTls && (
        <p className="notice" role="note">
          {t('settings.share.warning')}
        </p>
      )}
    </>
  );
}
