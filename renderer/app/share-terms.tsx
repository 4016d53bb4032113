import { useT } from '../i18n/index.ts';

interface ShareTermsProps {
  readonly withTls: boolean;
  /** A command-line flag sets TLS. */
  readonly isTlsFixed: boolean;
  readonly onChange: (withTls: boolean) => void;
}

/** Asks whether to use TLS before the orchestrator is shared with other machines. */
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
