import { useRef } from 'react';
import { useT } from '../../i18n/index.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { Copy } from '../../ui/button.tsx';
import { showToast } from '../../ui/toast.tsx';

const keys = [
  ['Ctrl K, ⌘ K', 'help.keyPalette'],
  ['g o, g w, g j, …', 'help.keyGo'],
  ['/', 'help.keyFilter'],
  ['?', 'help.keyHelp'],
  ['Tab', 'help.keyTab'],
  ['j k ↓ ↑', 'help.keyRows'],
  ['Enter', 'help.keyOpen'],
  ['Esc', 'help.keyClose'],
] as const;

export function HelpPage() {
  const t = useT();
  const { baseUrl } = usePanel();
  const diagnostics = useDiagnostics();
  const box = useRef<HTMLPreElement>(null);
  const select = (): void => {
    if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <div className="page">
      <h1>{t('nav.help')}</h1>
      <section className="card" aria-labelledby="help-keys">
        <h2 id="help-keys">{t('help.keys')}</h2>
        <dl className="keys">
          {keys.map(([key, text]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{t(text)}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section className="card" aria-labelledby="help-terminal">
        <h2 id="help-terminal">{t('help.terminal')}</h2>
        <p>{t('help.doctor')}</p>
        <pre className="mono">trainyard doctor --url {baseUrl}</pre>
        <p>
          <a href="/docs">{t('help.api')}</a>
        </p>
      </section>
      <section className="card" aria-labelledby="help-diagnostics">
        <h2 id="help-diagnostics">{t('help.diagnostics')}</h2>
        <p className="muted">{t('help.diagnosticsNote')}</p>
        <pre ref={box} className="mono">
          {diagnostics}
        </pre>
        <div>
          <Copy text={diagnostics} label={t('action.copy')} onFailed={select} />
        </div>
      </section>
    </div>
  );
}

/** Returns text for a bug report. It contains counts and states, but no names, tokens or configs. */
function useDiagnostics(): string {
  const { fleet, stream } = useFleet(state => state);
  const { permissions } = usePanel().person;
  const count = (states: Iterable<{ readonly status: string }>): Readonly<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { status } of states) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  const facts = {
    permissions,
    stream: stream.kind,
    seq: fleet.seq,
    workers: count(fleet.workers.values()),
    jobs: count(fleet.jobs.values()),
    browser: navigator.userAgent,
    language: document.documentElement.lang,
  };
  return JSON.stringify(facts, null, 2);
}
