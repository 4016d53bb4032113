import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { JobDetail } from '../../../protocol/job.ts';
import { Progress } from '../../../protocol/reports.ts';
import { everyCall } from '../../support/every-call.ts';

/** The page without its code blocks. */
const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8').replaceAll(
  /^```.*?^```$/gms,
  '',
);
/** Returns the texts in backticks. */
const codeSpansIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

/** Returns a call such as `GET /api/queue`, without its query; null for other text. */
const callIn = (span: string): string | null =>
  /^(?:GET|POST|PUT|PATCH|DELETE) \/[^ ?]*/.exec(span)?.[0] ?? null;

const addressOf = ({ method, path }: (typeof everyCall)[number]): string =>
  `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`;

const authorities = new Map(everyCall.map(row => [addressOf(row), row.authority]));
const namedCalls = codeSpansIn(page).flatMap(span => callIn(span) ?? []);

describe('docs/api.md', () => {
  it('names every call', () => {
    expect([...authorities.keys()].filter(address => !namedCalls.includes(address))).toEqual([]);
  });

  it('names only existing calls', () => {
    expect(namedCalls.filter(address => !authorities.has(address))).toEqual([]);
  });

  it('states the right permission of each call in its tables', () => {
    let hasPermissionColumn = false;
    const rows: (readonly [address: string, permission: string])[] = [];
    for (const line of page.split('\n')) {
      // Splits a table row into cells. `\|` is part of a cell.
      const [, calls = '', permissionCell = ''] = line.split(/ *(?<!\\)\| */);
      const isHeader = /^calls?$/i.test(calls);
      if (isHeader) hasPermissionColumn = /^permission$/i.test(permissionCell);
      // Cells with more than one permission are not checked.
      if (!hasPermissionColumn || !/^`[\w.]+`$|^none$/.test(permissionCell)) continue;
      const permission = permissionCell === 'none' ? 'open' : permissionCell.replaceAll('`', '');
      for (const span of codeSpansIn(calls)) {
        const address = callIn(span);
        if (address !== null) rows.push([address, permission]);
      }
    }
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter(([address, permission]) => authorities.get(address) !== permission)).toEqual([]);
  });

  it.each([
    ['a job', JobDetail.shape],
    ['progress', Progress.shape],
  ])('names every field of %s', (_title, shape) => {
    const [, section = ''] = /^### Fields of a job$(.*?)^###/ms.exec(page) ?? [];
    const firstCells = section.split('\n').map(line => line.split('|')[1] ?? '');
    const fields = firstCells.flatMap(codeSpansIn).flatMap(span => span.split(', '));
    expect(Object.keys(shape).filter(field => !fields.includes(field))).toEqual([]);
  });
});
