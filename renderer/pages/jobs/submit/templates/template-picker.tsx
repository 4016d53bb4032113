import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { TemplateView } from '../../../../../protocol/template.ts';
import { Field } from '../../field.tsx';
import { useCombobox } from '../../use-combobox.ts';
import { useTemplateT } from './texts.tsx';
import { addressOf, useTemplates } from './use-templates.ts';

const maxShown = 50;

const matches = ({ name, description, config_name: config }: TemplateView, words: string): boolean => {
  const text = `${name} ${description ?? ''} ${config ?? ''}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word));
};

/** Searches the templates, and opens the selected one. Renders nothing while there are none. */
export function TemplatePicker({ current }: { readonly current: string | null }) {
  const t = useTemplateT();
  const [, go] = useLocation();
  const templates = useTemplates() ?? [];
  /** The text to search for; null while the field shows the current template. */
  const [typed, setTyped] = useState<string | null>(null);
  const found = templates.filter(template => matches(template, typed ?? '')).slice(0, maxShown);
  const box = useCombobox(
    found.map(({ name }) => name),
    name => {
      setTyped(null);
      go(addressOf(name));
    },
    () => undefined,
  );
  if (templates.length === 0 && current === null) return null;
  return (
    <div className="card template-pick">
      <Field
        label={t('templates.pick')}
        hint={t(found.length === 0 && typed !== null ? 'templates.pick.none' : 'templates.pick.hint')}
      >
        {tied => (
          <div className="picker">
            <input
              {...tied}
              {...box.field}
              value={typed ?? current ?? ''}
              onChange={({ target }) => {
                box.rewrite();
                setTyped(target.value);
              }}
              onBlur={() => {
                box.field.onBlur();
                setTyped(null);
              }}
            />
            <div {...box.list} aria-label={t('templates.pick.list')} className="picker-list">
              {found.map((template, place) => (
                <TemplateOption
                  key={template.name}
                  {...box.option(place)}
                  template={template}
                  isChosen={template.name === current}
                  onChoose={() => box.take(template.name)}
                />
              ))}
            </div>
          </div>
        )}
      </Field>
      {current !== null && <Link href="/jobs/new">{t('templates.new')}</Link>}
    </div>
  );
}

interface OptionProps {
  readonly id: string;
  readonly template: TemplateView;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

/** Selects on mouse down, because a click would arrive after the field has lost the focus. */
function TemplateOption({ id, template, isActive, isChosen, onChoose }: OptionProps) {
  const t = useTemplateT();
  const { name, description, trainer, parameters } = template;
  const about = [description, trainer, t('templates.asks', { count: parameters.length })];
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      data-active={isActive}
      className="picker-option"
      ref={element => {
        if (isActive) element?.scrollIntoView({ block: 'nearest' });
      }}
      onMouseDown={event => {
        event.preventDefault();
        onChoose();
      }}
    >
      <span className="picker-name">{name}</span>
      <span className="muted">{about.filter(part => part !== null).join(' · ')}</span>
    </div>
  );
}
