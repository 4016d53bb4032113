/** Safe markup, made by `html`: every `<` in it is intended. */
export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | readonly Html[] | null;

/** A template tag. It escapes texts and inserts unchanged only what `html` itself made. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.reduce((all, text, at) => all + markupOf(parts[at - 1] ?? null) + text);
  return { markup };
}

function markupOf(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, char => entities[char] ?? '');

/** Renders a text of the document: parts between backticks become code. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
