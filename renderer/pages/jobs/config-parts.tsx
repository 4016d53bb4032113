import { useMemo, useState } from 'react';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { type Difference, differences } from './config-diff.ts';
import { conceal, hidden, isSecret } from './config-secrets.ts';

const maxRows = 24;

/** Shows a config or dataloader. Secrets stay hidden until the user reveals them. */
export function ConfigText({ value, label }: { readonly value: unknown; readonly label: string }) {
  const t = useT();
  const [isRevealed, setRevealed] = useState(false);
  const concealed = useMemo(() => conceal(value), [value]);
  const text = JSON.stringify(isRevealed ? value : concealed.value, null, 2);
  return (
    <>
      {concealed.count > 0 && (
        <p className="muted config-hidden">
          {t('jobs.config.hidden', { count: concealed.count })}{' '}
          <Button kind="quiet" aria-pressed={isRevealed} onClick={() => setRevealed(!isRevealed)}>
            {t(isRevealed ? 'jobs.config.hide' : 'jobs.config.reveal')}
          </Button>
        </p>
      )}
      {/* Unlike plain text, a field can be scrolled with the keyboard. */}
      <textarea
        readOnly
        className="mono config-text"
        aria-label={label}
        rows={Math.min(maxRows, text.split('\n').length)}
        value={text}
      />
    </>
  );
}

interface DiffProps {
  readonly before: unknown;
  readonly after: unknown;
  /** Describes the comparison. */
  readonly label: string;
  readonly names: readonly [before: string, after: string];
}

const maxShown = 100;

/** Lists the differing settings; renders nothing when the configs are equal. */
export function ConfigDiff({ before, after, label, names }: DiffProps) {
  const t = useT();
  const found = useMemo(() => differences(before, after), [before, after]);
  if (found.length === 0) return null;
  return (
    <div className="config-diff">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{t('jobs.diff.setting')}</th>
            <th scope="col">{names[0]}</th>
            <th scope="col">{names[1]}</th>
          </tr>
        </thead>
        <tbody>
          {found.slice(0, maxShown).map(difference => (
            <DiffRow key={difference.path} difference={difference} />
          ))}
        </tbody>
      </table>
      {found.length > maxShown && (
        <p className="muted">{t('jobs.diff.more', { count: found.length - maxShown })}</p>
      )}
    </div>
  );
}

function DiffRow({ difference: { path, before, after } }: { readonly difference: Difference }) {
  const t = useT();
  const shown = (value: string | null) => {
    if (value === null) return <span className="muted">{t('jobs.diff.absent')}</span>;
    const text = path.split('.').some(isSecret) ? hidden : value;
    return <code title={text}>{text}</code>;
  };
  return (
    <tr>
      <th scope="row">
        <code>{path}</code>
      </th>
      <td>{shown(before)}</td>
      <td>{shown(after)}</td>
    </tr>
  );
}
