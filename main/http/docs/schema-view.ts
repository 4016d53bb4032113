import { z } from 'zod';
import { Schema } from './document.ts';

/** Markup from the tag `html`, in which all texts are escaped. */
export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | readonly Html[] | null;

/** A template tag that returns markup. It escapes texts, and inserts other results of `html` unchanged. */
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

/** Renders text of the document. Parts between backticks become code. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;

const schemas = z.array(Schema).catch([]);
const names = z.array(z.string()).catch([]);
const asSchema = (value: unknown): Schema | null => Schema.safeParse(value).data ?? null;

export const anchorOf = (name: string): string => `schema-${name}`;

/** Renders a shape as a list of its fields, including nested fields. Named shapes become links. */
export function schemaView(schema: Schema): Html {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return html`<p>${typeView(schema)}${limitsView(schema)}</p>${nestedView(schema)}`;
  const required = names.parse(schema['required']);
  return html`<ul>${fields.map(([name, field]) => fieldView(name, field, required.includes(name)))}</ul>`;
}

export const fieldView = (name: string, schema: Schema, isRequired: boolean): Html =>
  html`<li><code>${name}</code>${isRequired ? html` <em>required</em>` : null} ${typeView(schema)}${limitsView(schema)}${descriptionView(schema)}${nestedView(schema)}</li>`;

/** Renders the description of a field. In a nullable field, one of the alternatives may contain it. */
function descriptionView(schema: Schema): Html | null {
  const texts = [schema, ...schemas.parse(schema['anyOf'])].map(one => one['description']);
  const text = texts.find(one => typeof one === 'string');
  return text === undefined ? null : html`<br>${prose(text)}`;
}

const fieldsOf = (schema: Schema): readonly (readonly [string, Schema])[] =>
  Object.entries(asSchema(schema['properties']) ?? {}).map(([name, field]) => [name, asSchema(field) ?? {}]);

/** Renders the fields of nested shapes at any depth, also those in a list or in a union of shapes. */
function nestedView(schema: Schema): Html | null {
  if (fieldsOf(schema).length > 0) return schemaView(schema);
  const inner = [...schemas.parse(schema['anyOf']), ...schemas.parse(schema['oneOf'])];
  const items = asSchema(schema['items']);
  const views = [...inner, ...(items === null ? [] : [items])].map(nestedView);
  const shown = views.filter(view => view !== null);
  return shown.length === 0 ? null : html`${shown}`;
}

function typeView(schema: Schema): Html {
  const { $ref: reference, enum: words, const: constant, type, items } = schema;
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    return html`<a href="#${anchorOf(name)}">${name}</a>`;
  }
  if (constant !== undefined) return html`<code>${JSON.stringify(constant)}</code>`;
  if (Array.isArray(words)) return joined(words.map(word => html`<code>${JSON.stringify(word)}</code>`));
  const choices = [...schemas.parse(schema['anyOf']), ...schemas.parse(schema['oneOf'])];
  if (choices.length > 0)
    return joined(choices.map(choice => html`${typeView(choice)}${limitsView(choice)}`));
  const item = asSchema(items);
  if (item !== null) return html`list of ${typeView(item)}`;
  const values = asSchema(schema['additionalProperties']);
  if (type === 'object' && values !== null && Object.keys(values).length > 0)
    return html`map of ${typeView(values)}`;
  if (Array.isArray(type)) return joined(type.map(one => html`${String(one)}`));
  return html`${typeof type === 'string' ? type : 'anything'}`;
}

const joined = (parts: readonly Html[]): Html =>
  html`${parts.map((part, at) => (at === 0 ? part : html` or ${part}`))}`;

const count = (value: string, thing: string): string => `${value} ${thing}${value === '1' ? '' : 's'}`;

const limits: Readonly<Record<string, (value: string) => string>> = {
  minimum: value => `at least ${value}`,
  maximum: value => `at most ${value}`,
  minLength: value => `at least ${count(value, 'character')}`,
  maxLength: value => `at most ${count(value, 'character')}`,
  minItems: value => `at least ${count(value, 'item')}`,
  maxItems: value => `at most ${count(value, 'item')}`,
  format: value => `as ${value}`,
  pattern: value => `matches ${value}`,
  default: value => `${value} unless given`,
};

function limitsView(schema: Schema): Html | null {
  // If a field has a format, its pattern is not shown.
  const { pattern, ...rest } = schema;
  const shown: Schema = schema['format'] === undefined ? { ...rest, pattern } : rest;
  const texts = Object.entries(limits)
    .filter(([key]) => isRealLimit(shown[key]))
    .map(([key, describe]) => describe(wordOf(shown[key])));
  return texts.length === 0 ? null : html` <small>(${texts.join(', ')})</small>`;
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns false for bounds that only state the range of JSON integers. */
const isRealLimit = (value: unknown): boolean =>
  value !== undefined && (typeof value !== 'number' || Math.abs(value) < Number.MAX_SAFE_INTEGER);

/** Returns a minimal example value. */
export function exampleOf(schema: Schema): unknown {
  const { enum: words, const: constant, type, minimum } = schema;
  if (constant !== undefined) return constant;
  if (schema['default'] !== undefined) return schema['default'];
  if (Array.isArray(words)) return words[0] as unknown;
  const [choice] = [...schemas.parse(schema['anyOf']), ...schemas.parse(schema['oneOf'])];
  if (choice !== undefined) return exampleOf(choice);
  if (type === 'array') return [];
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? minimum : 0;
  if (type !== 'object') return '...';
  const fields = fieldsOf(schema);
  const required = names.parse(schema['required']);
  // Shapes without required fields often need at least one field, so the example contains the first.
  const shown = required.length > 0 ? fields.filter(([name]) => required.includes(name)) : fields.slice(0, 1);
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field)]));
}
