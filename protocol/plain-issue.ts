import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

/**
 * Option for `safeParse`. Each message is a phrase that follows a field's name, such as "must be a number". Messages in a
 * schema take precedence.
 */
export const plainIssues = { error: (issue: Issue): string | undefined => describe(issue) } as const;

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  nan: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  date: 'a date',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  datetime: 'must be a date and time such as 2026-01-31T12:00:00Z',
  date: 'must be a date such as 2026-01-31',
  url: 'must be a URL',
  email: 'must be an e-mail address',
};

/** Returns the message; undefined to keep zod's own message. */
function describe(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${nouns[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return bound(issue.origin, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return bound(issue.origin, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map(String))}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `unknown key ${issue.keys.map(key => `\`${key}\``).join(', ')}`;
    case 'invalid_format':
      return formats[issue.format] ?? `does not have the form ${issue.pattern ?? issue.format}`;
    case 'invalid_union':
      return anyOf(issue.errors.flatMap(each => each.slice(0, 1).map(({ message }) => message)));
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return undefined;
  }
}

function bound(origin: string, limit: number | bigint, comparison: string): string {
  if (origin === 'string' && comparison === 'at least' && limit === 1) return 'must not be empty';
  if (origin === 'string') return `must have ${comparison} ${counted(limit, 'character', 'characters')}`;
  return origin === 'array' || origin === 'set' || origin === 'map'
    ? `must have ${comparison} ${counted(limit, 'entry', 'entries')}`
    : `must be ${comparison} ${limit}`;
}

const counted = (count: number | bigint, singular: string, plural: string): string =>
  `${count} ${count === 1 ? singular : plural}`;

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;

/** Joins the messages of the alternatives; returns undefined when no alternative has a message. */
const anyOf = (messages: readonly string[]): string | undefined =>
  messages.length === 0 ? undefined : [...new Set(messages)].join(', or ');
