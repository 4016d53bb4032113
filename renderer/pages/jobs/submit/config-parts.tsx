import { useMemo, useState } from 'react';
import { isSecretName } from '../../../../protocol/secret-names.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';

export const hidden = '••••••';

interface Concealed {
  readonly value: unknown;
  /** Number of values that were replaced. */
  readonly count: number;
}

/** Replaces secret values by dots, so that screenshots do not reveal secrets. @internal */
export function conceal(value: unknown): Concealed {
  if (Array.isArray(value)) {
    const parts = value.map(conceal);
    return { value: parts.map(part => part.value), count: sum(parts) };
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 };
  const parts = Object.entries(value).map(([name, part]: readonly [string, unknown]) => ({
    name,
    ...(isSecretName(name) && isFilled(part) ? { value: hidden, count: 1 } : conceal(part)),
  }));
  return { value: Object.fromEntries(parts.map(part => [part.name, part.value])), count: sum(parts) };
}

const isFilled = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

const sum = (parts: readonly { readonly count: number }[]): number =>
  parts.reduce((total, { count }) => total + count, 0);

/** A setting that differs between two configs. */
interface Difference {
  /** Path of the setting, such as `train.optimizer.lr`; list indexes are in brackets. */
  readonly path: string;
  /** The value as JSON; null when the setting does not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the settings that differ, sorted by path. The order of keys does not matter. @internal */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
    return names.flatMap(name =>
      differences(fieldOf(before, name), fieldOf(after, name), path === '' ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((entry: unknown, at) => differences(entry, after[at], `${path}[${at}]`));
  const [was, is] = [textOf(before), textOf(after)];
  return was === is ? [] : [{ path, before: was, after: is }];
}

const fieldOf = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** Formats a value as JSON with sorted keys, so that equal values have equal text. */
const textOf = (value: unknown): string | null =>
  value === undefined
    ? null
    : JSON.stringify(value, (_name, part: unknown) =>
        isObject(part)
          ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
          : part,
      );

export const isSame = (a: unknown, b: unknown): boolean => differences(a, b).length === 0;

const maxRows = 24;

/** Shows a config or dataloader as JSON. Secrets stay hidden until the user reveals them. */
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
      {/* Use a text field, because it can be scrolled with the keyboard. */}
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
  /** Names the comparison for screen readers. */
  readonly label: string;
  readonly names: readonly [before: string, after: string];
}

const maxShown = 100;

/** Lists the settings that differ; renders nothing when the configs are equal. */
export function ConfigDiff({ before, after, label, names }: DiffProps) {
  const t = useT();
  const changes = useMemo(() => differences(before, after), [before, after]);
  if (changes.length === 0) return null;
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
          {changes.slice(0, maxShown).map(difference => (
            <DiffRow key={difference.path} difference={difference} />
          ))}
        </tbody>
      </table>
      {changes.length > maxShown && (
        <p className="muted">{t('jobs.diff.more', { count: changes.length - maxShown })}</p>
      )}
    </div>
  );
}

function DiffRow({ difference: { path, before, after } }: { readonly difference: Difference }) {
  const t = useT();
  const shown = (value: string | null) => {
    if (value === null) return <span className="muted">{t('jobs.diff.absent')}</span>;
    const text = path.split('.').some(isSecretName) ? hidden : value;
    return <code title={text}>{text}</code>;
  };
  return (
    <tr>
      <th scope="row">
        <code>{path}</code>
      </th>
      <td className="diff-before">{shown(before)}</td>
      <td className="diff-after">{shown(after)}</td>
    </tr>
  );
}
