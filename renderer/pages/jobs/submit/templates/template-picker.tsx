import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { TemplateView } from '../../../../../protocol/template.ts';
import { Field } from '../../field.tsx';
import { PickerOption } from '../../picker-option.tsx';
import { useCombobox } from '../../use-combobox.ts';
import { type TemplateTranslator, useTemplateT } from './texts.tsx';
import { addressOf, useTemplates } from './use-templates.ts';

const maxShown = 50;

const matches = ({ name, description, config_name: config }: TemplateView, words: string): boolean => {
  const text = `${name} ${description ?? ''} ${config ?? ''}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word));
};

/** Searches the templates, and opens the selected one. Renders nothing while there are no templates. */
export function TemplatePicker({ current }: { readonly current: string | null }) {
  const t = useTemplateT();
  const [, go] = useLocation();
  const templates = useTemplates() ?? [];
  /** The text to search for; null while the field shows the current template. */
  const [typed, setTyped] = useState<string | null>(null);
  const matching = templates.filter(template => matches(template, typed ?? '')).slice(0, maxShown);
  const box = useCombobox(
    matching.map(({ name }) => name),
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
        hint={t(matching.length === 0 && typed !== null ? 'templates.pick.none' : 'templates.pick.hint')}
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
              {matching.map((template, index) => (
                <PickerOption
                  key={template.name}
                  {...box.option(index)}
                  name={template.name}
                  isChosen={template.name === current}
                  onChoose={() => box.take(template.name)}
                >
                  <span className="muted">{aboutTemplate(template, t)}</span>
                </PickerOption>
              ))}
            </div>
          </div>
        )}
      </Field>
      {current !== null && <Link href="/jobs/new">{t('templates.new')}</Link>}
    </div>
  );
}

/** Returns a summary such as "For faces · kohya · asks for 3 values". */
function aboutTemplate({ description, trainer, parameters }: TemplateView, t: TemplateTranslator): string {
  const parts = [description, trainer, t('templates.asks', { count: parameters.length })];
  return parts.filter(part => part !== null).join(' · ');
}
