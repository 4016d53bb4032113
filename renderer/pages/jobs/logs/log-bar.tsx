import type { ChangeEvent, KeyboardEvent, RefObject } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import type { LogSearch } from './use-search.ts';

interface SearchBarProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly written: string;
  readonly onWritten: (text: string) => void;
  readonly search: LogSearch;
  readonly current: number | null;
  readonly onNext: () => void;
  readonly onPrevious: () => void;
}

export function SearchBar({
  field,
  written,
  onWritten,
  search,
  current,
  onNext,
  onPrevious,
}: SearchBarProps) {
  const t = useT();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onWritten('');
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (event.shiftKey) onPrevious();
    else onNext();
  };
  const hasHits = (search.hits?.total ?? 0) > 0;
  return (
    <div className="log-search" role="search">
      <input
        ref={field}
        type="search"
        aria-label={t('logs.search')}
        placeholder={t('logs.search')}
        maxLength={200}
        spellCheck={false}
        value={written}
        onChange={({ target }: ChangeEvent<HTMLInputElement>) => onWritten(target.value)}
        onKeyDown={onKeyDown}
      />
      <Button kind="quiet" aria-label={t('logs.search.previous')} disabled={!hasHits} onClick={onPrevious}>
        <Icon name="up" />
      </Button>
      <Button kind="quiet" aria-label={t('logs.search.next')} disabled={!hasHits} onClick={onNext}>
        <Icon name="down" />
      </Button>
      <span className="log-hits" role="status">
        {hitsText(t, search, current)}
      </span>
    </div>
  );
}

function hitsText(
  t: ReturnType<typeof useT>,
  { text, hits, isBusy }: LogSearch,
  current: number | null,
): string {
  if (isBusy) return t('logs.search.busy');
  if (text === '' || hits === null) return '';
  if (hits.total === null) return t('logs.search.failed');
  const index = current === null ? -1 : (hits.lines?.indexOf(current) ?? -1);
  return index === -1
    ? t('logs.search.count', { count: hits.total })
    : t('logs.search.place', { place: index + 1, count: hits.total });
}

interface ToggleButtonProps {
  readonly isOn: boolean;
  readonly text: string;
  readonly onTurn: (isOn: boolean) => void;
}

export const ToggleButton = ({ isOn, text, onTurn }: ToggleButtonProps) => (
  <Button aria-pressed={isOn} className="log-turn" onClick={() => onTurn(!isOn)}>
    {text}
  </Button>
);
