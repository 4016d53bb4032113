import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { sessionApi } from '../../../../protocol/session-api.ts';
import { pinFor, settingsApi, type SettingsView } from '../../../../protocol/settings-api.ts';
import { useMay, usePanel } from '../../../app/context.ts';
import { loadPart } from '../../../app/part.ts';
import { useSettings } from '../../../app/settings.tsx';
import { perLocale } from '../../../i18n/formats.ts';
import { Button, Copy } from '../../../ui/button.tsx';
import { useNow } from '../../../ui/time.tsx';
import { showFailure, showToast } from '../../../ui/toast.tsx';
import { joinUrls } from './join-urls.ts';
import './phone.css';
import { JoinTexts, useJoinT } from './texts.tsx';

const QrCode = lazy(() =>
  loadPart(async () => ({ default: (await import('../../../ui/qr-code.tsx')).QrCode })),
);

/** Shows a QR code that opens the panel on a phone, and signs the phone in if the user may create sign-in links. */
export const PhoneAccess = () => (
  <JoinTexts>
    <Addresses />
  </JoinTexts>
);

function Addresses() {
  const t = useJoinT();
  const { baseUrl } = usePanel();
  const { settings, isRead } = useSettings();
  const [picked, setPicked] = useState<string | null>(null);
  const reachable = joinUrls(settings, baseUrl).filter(({ note }) => note === null || note === 'vpn');
  const chosen = reachable.find(({ url }) => url === picked) ?? reachable[0];
  const may = useMay();
  if (!isRead) return null;
  if (chosen === undefined)
    return (
      <p>
        {t('phone.private')}{' '}
        {may(settingsApi.get) && <Link href="/settings/network">{t('phone.network')}</Link>}
      </p>
    );
  return (
    <div className="phone">
      {reachable.length > 1 && (
        <label>
          {t('phone.address')}
          <select value={chosen.url} onChange={({ target }) => setPicked(target.value)}>
            {reachable.map(({ url, interface: name }) => (
              <option key={url} value={url} translate="no">
                {name === null ? url : `${url} (${name})`}
              </option>
            ))}
          </select>
        </label>
      )}
      <Code key={chosen.url} url={chosen.url} network={settings?.network ?? null} />
    </div>
  );
}

interface CodeProps {
  readonly url: string;
  readonly network: SettingsView['network'] | null;
}

function Code({ url, network }: CodeProps) {
  const may = useMay();
  const t = useJoinT();
  // Show the certificate only for URLs with a pin, because behind a proxy the phone sees another certificate.
  const certificate = network === null || pinFor(network, url) === null ? null : network.tls;
  return (
    <Suspense fallback={<div aria-busy="true" />}>
      {may(sessionApi.link) ? <SignInCode url={url} /> : <PlainCode url={url} />}
      {certificate !== null && (
        <p className="muted">
          {t('phone.warning')} <code className="phone-fingerprint">{certificate.fingerprint}</code>
        </p>
      )}
    </Suspense>
  );
}

function PlainCode({ url }: { readonly url: string }) {
  const t = useJoinT();
  return (
    <>
      <QrCode text={url} label={t('phone.code.plain', { url })} />
      <code className="phone-url">{url}</code>
      <p className="muted">{t('phone.token')}</p>
    </>
  );
}

interface SignInLink {
  readonly path: string;
  /** Expiry in milliseconds since 1970, by this computer's clock. */
  readonly until: number;
}

const timeOfDay = perLocale({ timeStyle: 'short' });

/** Creates a sign-in link only on request, because everyone who sees the QR code can sign in. */
function SignInCode({ url }: { readonly url: string }) {
  const t = useJoinT();
  const { client, person } = usePanel();
  const [link, setLink] = useState<SignInLink | null>(null);
  const [isRequesting, setRequesting] = useState(false);
  const now = useNow(1_000);
  const request = async (): Promise<void> => {
    setRequesting(true);
    const before = Date.now();
    const answer = await client.call(sessionApi.link);
    setRequesting(false);
    if (!answer.ok) return showFailure(t, answer.failure);
    setLink({ path: answer.value.path, until: before + answer.value.expires_in_s * 1000 });
  };
  const isOpen = link !== null && now < link.until;
  const time = link === null ? '' : timeOfDay(t).format(link.until);
  return (
    <>
      {isOpen && (
        <>
          <QrCode text={url + link.path} label={t('phone.code', { host: new URL(url).host })} />
          <code className="phone-url">{url}</code>
        </>
      )}
      <p role="status" className={isOpen ? undefined : 'muted'}>
        {link === null && t('phone.explain')}
        {isOpen && t('phone.until', { time, user: person.user })}
        {link !== null && !isOpen && t('phone.over', { time })}
      </p>
      <div className="phone-acts">
        {isOpen && (
          <Copy
            text={url + link.path}
            label={t('phone.copy')}
            onFailed={() => showToast(t('workers.copy.byHand'))}
          />
        )}
        {!isOpen && (
          <Button disabled={isRequesting} onClick={() => void request()}>
            {t(link === null ? 'phone.show' : 'phone.again')}
          </Button>
        )}
      </div>
    </>
  );
}
