import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { JobDetail } from '../../../protocol/job.ts';
import { Progress } from '../../../protocol/reports.ts';
import { everyCall } from '../../support/every-call.ts';

/** The text of docs/api.md without its code blocks. */
const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8').replaceAll(
  /^```.*?^```$/gms,
  '',
);
/** Returns the code spans of a text, without their backticks. */
const codeSpansIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

/** Returns the call in a code span, such as `GET /api/queue`, without its query; null for other text. */
const callIn = (span: string): string | null =>
  /^(?:GET|POST|PUT|PATCH|DELETE) \/[^ ?]*/.exec(span)?.[0] ?? null;

const addressOf = ({ method, path }: (typeof everyCall)[number]): string =>
  `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`;

const authorities = new Map(everyCall.map(row => [addressOf(row), row.authority]));
const namedCalls = codeSpansIn(page).flatMap(span => callIn(span) ?? []);

describe('docs/api.md', () => {
  it('names every call of the API', () => {
    expect([...authorities.keys()].filter(address => !namedCalls.includes(address))).toEqual([]);
  });

  it('names only existing calls of the API', () => {
    expect(namedCalls.filter(address => !authorities.has(address))).toEqual([]);
  });

  it('states the permission of each call as declared in the protocol', () => {
    let hasPermissionColumn = false;
    const rows: (readonly [address: string, permission: string])[] = [];
    for (const line of page.split('\n')) {
      // Splits a table row into cells, but not at an escaped `\|`.
      const [, calls = '', permissionCell = ''] = line.split(/ *(?<!\\)\| */);
      const isHeader = /^calls?$/i.test(calls);
      if (isHeader) hasPermissionColumn = /^permission$/i.test(permissionCell);
      // Skips cells with several permissions.
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
  ])('documents every field of %s', (_title, shape) => {
    const [, section = ''] = /^### Fields of a job$(.*?)^###/ms.exec(page) ?? [];
    const firstCells = section.split('\n').map(line => line.split('|')[1] ?? '');
    const fields = firstCells.flatMap(codeSpansIn).flatMap(span => span.split(', '));
    expect(Object.keys(shape).filter(field => !fields.includes(field))).toEqual([]);
  });
});
