import { Component, type ReactNode, useEffect, useState } from 'react';
import { systemApi } from '../../protocol/admin-api.ts';
import { useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import { usePanel } from './context.ts';
import { mayReload, PartUnavailable } from './part.ts';

interface BoundaryProps {
  readonly children: ReactNode;
  /** Returns the content to show for an error; returns false to show the error's name and message. */
  readonly onFailure?: (failure: Error) => ReactNode;
}

/** Catches an error of one page, so that the rest of the panel stays usable. */
export class Boundary extends Component<BoundaryProps, { readonly failure: Error | null }> {
  override state = { failure: null as Error | null };

  static getDerivedStateFromError(failure: Error) {
    return { failure };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    const { onFailure = () => false } = this.props;
    const shown = onFailure(failure);
    if (shown !== false) return shown;
    return (
      <div className="page" role="alert">
        <h1>{failure.name}</h1>
        <pre>{failure.message}</pre>
      </div>
    );
  }
}

/** The `onFailure` of a boundary around a part of the panel that loads on demand. */
export const explainFailure = (failure: unknown) => failure instanceof PartUnavailable && <Unavailable />;

const pollMs = 2_000;

/** Shown in place of a page that failed to load. Reloads the page as soon as the server answers. */
function Unavailable() {
  const t = useT();
  const { client } = usePanel();
  const [isBack, setBack] = useState(false);
  useEffect(() => {
    if (isBack) return undefined;
    const controller = new AbortController();
    const probe = async (): Promise<void> => {
      const answer = await client.call(systemApi.live, { signal: controller.signal, timeoutMs: pollMs });
      if (controller.signal.aborted || !answer.ok) return;
      if (mayReload(sessionStorage, Date.now())) location.reload();
      else setBack(true);
    };
    void probe();
    const timer = setInterval(() => void probe(), pollMs);
    return () => {
      clearInterval(timer);
      controller.abort();
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
