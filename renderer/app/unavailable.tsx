import { useEffect, useState } from 'react';
import { systemApi } from '../../protocol/admin-api.ts';
import { useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import { usePanel } from './context.ts';
import { mayReload } from './part.ts';

const askEveryMs = 2_000;

/** Replaces a page that failed to load. It reloads as soon as the server answers. */
export function Unavailable() {
  const t = useT();
  const { client } = usePanel();
  const [isBack, setBack] = useState(false);
  useEffect(() => {
    if (isBack) return undefined;
    const asking = new AbortController();
    const ask = async (): Promise<void> => {
      const answer = await client.call(systemApi.live, { signal: asking.signal, timeoutMs: askEveryMs });
      if (asking.signal.aborted || !answer.ok) return;
      if (mayReload(sessionStorage, Date.now())) location.reload();
      else setBack(true);
    };
    void ask();
    const timer = setInterval(() => void ask(), askEveryMs);
    return () => {
      clearInterval(timer);
      asking.abort();
    };
  }, [client, isBack]);
  return (
    <div className="page" role="alert">
      <h1>{t('page.unavailable')}</h1>
      <p>{t(isBack ? 'page.unavailable.failed' : 'page.unavailable.waiting')}</p>
      <div>
        <Button kind="primary" onClick={() => location.reload()}>
          {t('action.retry')}
        </Button>
      </div>
    </div>
  );
}
