import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { JobDetail } from '../../../protocol/job.ts';
import { Progress } from '../../../protocol/reports.ts';
import { everyCall } from '../../support/every-call.ts';

const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8').replaceAll(
  /^```.*?^```$/gms,
  '',
);
const spansOf = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

// Returns a call such as `GET /api/queue`, without its query; null for other text.
const callIn = (span: string): string | null =>
  /^(?:GET|POST|PUT|PATCH|DELETE) \/[^ ?]*/.exec(span)?.[0] ?? null;

const addressOf = ({ method, path }: (typeof everyCall)[number]): string =>
  `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`;

const authorities = new Map(everyCall.map(row => [addressOf(row), row.authority]));
const named = spansOf(page).flatMap(span => callIn(span) ?? []);

describe('docs/api.md', () => {
  it('names every call', () => {
    expect([...authorities.keys()].filter(address => !named.includes(address))).toEqual([]);
  });

  it('names only existing calls', () => {
    expect(named.filter(address => !authorities.has(address))).toEqual([]);
  });

  it('gives the right permission of each call in its tables', () => {
    let hasPermissions = false;
    const rows = page.split('\n').flatMap(line => {
      const [, calls = '', permission = ''] = line.split(/ *(?<!\\)\| */);
      if (/^calls?$/i.test(calls)) hasPermissions = /^permission$/i.test(permission);
      if (!hasPermissions) return [];
      const [right] = permission === 'none' ? ['open'] : spansOf(permission);
      if (right === undefined || !/^`[\w.]+`$|^none$/.test(permission)) return [];
      return spansOf(calls).flatMap(span => {
        const address = callIn(span);
        return address === null ? [] : [[address, right] as const];
      });
    });
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter(([address, right]) => authorities.get(address) !== right)).toEqual([]);
  });

  it.each([
    ['a job', JobDetail.shape],
    ['progress', Progress.shape],
  ])('names every field of %s', (_title, shape) => {
    const [, section = ''] = /^### Fields of a job$(.*?)^###/ms.exec(page) ?? [];
    const first = section.split('\n').flatMap(line => spansOf(line.split('|')[1] ?? ''));
    const fields = first.flatMap(span => span.split(', '));
    expect(Object.keys(shape).filter(field => !fields.includes(field))).toEqual([]);
  });
});
