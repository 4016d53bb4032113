import { useId, useState } from 'react';
import { isSecretParameter } from '../../../../../protocol/template-values.ts';
import { TextField } from '../../field.tsx';
import { hidden } from '../config-parts.tsx';
import { type Candidate, idOf } from './parameter-draft.ts';
import { type TemplateTranslator, useTemplateT } from './texts.tsx';
import { nameOf } from './values.ts';

const maxShown = 200;

interface KeyListProps {
  readonly candidates: readonly Candidate[];
  readonly asked: ReadonlySet<string>;
  readonly onChange: (candidate: Candidate, isAsked: boolean) => void;
}

/** Lists all values of a submission with checkboxes. Checked values are parameters of the template. */
export function KeyList({ candidates, asked, onChange }: KeyListProps) {
  const t = useTemplateT();
  const [words, setWords] = useState('');
  const searchWords = words.toLowerCase().split(/\s+/);
  const matching = candidates.filter(({ key, value }) => {
    const text = `${key} ${value ?? ''}`.toLowerCase();
    return searchWords.every(word => text.includes(word));
  });
  const shown = matching.slice(0, maxShown);
  const groups = Map.groupBy(shown, ({ group, file }) => file ?? groupName(group, t));
  return (
    <div className="key-list">
      <TextField label={t('templates.keys.find')} value={words} onChange={setWords} />
      <div className="key-groups" tabIndex={-1}>
        {[...groups].map(([name, members]) => (
          <KeyGroup key={name} name={name} members={members} asked={asked} onChange={onChange} />
        ))}
        {matching.length === 0 && <p className="muted">{t('templates.keys.none')}</p>}
        {matching.length > maxShown && (
          <p className="muted">{t('templates.keys.more', { count: matching.length - maxShown })}</p>
        )}
      </div>
    </div>
  );
}

const groupName = (group: Candidate['group'], t: TemplateTranslator): string =>
  group === 'file' ? '' : t(`templates.keys.${group}`);

interface KeyGroupProps extends Omit<KeyListProps, 'candidates'> {
  readonly name: string;
  readonly members: readonly Candidate[];
}

function KeyGroup({ name, members, asked, onChange }: KeyGroupProps) {
  const t = useTemplateT();
  const title = useId();
  return (
    <div role="group" aria-labelledby={title}>
      <h3 id={title}>{name}</h3>
      {members.map(candidate => (
        <label key={idOf(candidate)} className="key-row">
          <input
            type="checkbox"
            checked={asked.has(idOf(candidate))}
            onChange={({ target }) => onChange(candidate, target.checked)}
          />
          {candidate.document === 'job' ? (
            <span>{nameOf({ ...candidate, label: null }, t)}</span>
          ) : (
            <code>{candidate.key}</code>
          )}
          <span className="muted key-value" translate="no">
            {isSecretParameter(candidate) && candidate.value !== null ? hidden : candidate.value}
          </span>
        </label>
      ))}
    </div>
  );
}
