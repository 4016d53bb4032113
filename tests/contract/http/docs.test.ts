import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { docsPage } from '../../../main/http/docs/page.ts';
import { problems } from '../../../protocol/problem.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let response: Response;
let page: string;
beforeAll(async () => {
  server = await startTestServer();
  response = await fetch(`${server.url}/docs`, { signal: AbortSignal.timeout(5_000) });
  page = await response.text();
});
afterAll(() => server.close());

// Returns the text that a browser would show.
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<style>.*?<\/style>/gs, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => entities[name] ?? '');
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

const ids = (markup: string) => [...markup.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);

describe('serving /docs', () => {
  test('serves /docs without a token, with a content security policy that allows only its own style', () => {
    expect(response.status).toBe(200);
    const { headers } = response;
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    const [style = ''] = /(?<=<style>).*?(?=<\/style>)/s.exec(page) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });

  test('serves /docs without anything that its content security policy would block', () => {
    expect(page.match(/<style>/g)).toHaveLength(1);
    expect(page).not.toMatch(/<(script|link|img|iframe|object|embed|form|base)\b/i);
    expect(page).not.toMatch(/<[^>]* (style|on\w+|src)=/i);
    expect(page).not.toMatch(/<[^>]*https?:/i);
    expect(page).not.toMatch(/url\(|@import/);
    expect(page).toContain('color-scheme: light dark');
  });

  test('allows only GET and HEAD for /docs', async () => {
    const head = await fetch(`${server.url}/docs`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(`${server.url}/docs`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET']);
    expect(await post.json()).toMatchObject({ code: 'method_not_allowed' });
  });
});

describe('contents of /docs', () => {
  test.each(rows.map(row => [`${row.method} ${row.path.replaceAll(/[:*](\w+)/g, '{$1}')}`, row] as const))(
    'describes %s and who may call it',
    (name, { summary, authority, own }) => {
      const [section = ''] =
        page.split('<section').filter(part => part.includes(`<code>${name}</code></a></h3>`)) ?? [];
      expect(textOf(`<section${section}`)).toContain(summary);
      const authorityTexts = {
        open: 'Needs no token.',
        worker: 'Needs a worker token.',
        join: 'Needs a join token.',
        upload: 'Needs an upload token.',
      };
      expect(textOf(section)).toContain(
        authority === 'open' || authority === 'worker' || authority === 'join' || authority === 'upload'
          ? authorityTexts[authority]
          : `Needs the permission ${authority}${own === undefined || own === 'refused' ? '.' : `, or ${authority}.own`}`,
      );
      expect(textOf(section)).toMatch(/\ncurl .*"\$URL\/.*"/);
    },
  );

  test('gives each call and schema an anchor, and links only to existing anchors', () => {
    const anchors = ids(page);
    expect(new Set(anchors).size).toBe(anchors.length);
    const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(2 * rows.length);
    expect(links.filter(id => !anchors.includes(id))).toEqual([]);
    const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
    expect(levels.filter(level => level === 1)).toHaveLength(1);
  });

  test('describes the problems of each call, and every kind of event', () => {
    expect(page.match(/<p>Else a <a href="#problems">problem<\/a>.<\/p>/g)).toHaveLength(rows.length);
    const events = textOf(page.slice(page.indexOf('id="schema-UiEvent"')));
    expect(events).toMatch(/kind required "worker".*kind required "job".*kind required "reset"/s);
  });

  test('describes the fields, limits and defaults of a submit', () => {
    const text = textOf(page);
    expect(text).toContain('priority integer (at least 0, at most 50) or "low" or "normal"');
    expect(text).toContain('or "critical" (10 unless given)');
    expect(text).toContain('driver string (at most 200 characters) or null');
    expect(text).toContain('created_at required string (as date-time)');
    expect(text).toContain('"continue" or "stop"');
    expect(text).toContain(
      `curl -X POST -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"config_name":"..."}' "$URL/api/queue/submit"`,
    );
    expect(text).toContain('curl -N -H "X-Worker-Token: $TOKEN" "$URL/api/workers/stream"');
    for (const code of Object.keys(problems)) expect(text).toContain(code);
  });
});

describe('hostile text in the API document', () => {
  const evil = `<script>alert('1')</script>"&`;
  const schema = {
    type: 'object',
    properties: { [evil]: { enum: [evil], default: evil } },
    required: [evil],
  };
  const content = { [evil]: { schema } };
  const hostile = {
    info: { title: evil, version: evil, description: evil },
    paths: {
      [`/${evil}/{${evil}}`]: {
        [evil]: {
          operationId: evil,
          summary: evil,
          description: evil,
          security: [{ [evil]: [] }],
          parameters: [{ name: evil, in: evil, required: true, schema: { $ref: `#/x/${evil}` } }],
          requestBody: { content },
          responses: { [evil]: { content }, other: { $ref: evil } },
        },
      },
    },
    components: {
      schemas: {
        [evil]: { type: evil, pattern: evil, format: evil },
        list: { type: [evil] },
        one: { const: evil },
      },
      responses: { [evil]: { description: evil, content } },
      securitySchemes: { [evil]: { type: evil, name: evil, description: evil } },
    },
  };

  test('escapes hostile text everywhere on the page', () => {
    const markup = docsPage(hostile);
    expect(markup).not.toMatch(/<script/i);
    expect(markup.match(/<style>/g)).toHaveLength(1);
    // Every tag is well-formed: no quotation mark in the data ends an attribute early.
    const tags = [...markup.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
    expect(tags.filter(tag => !/^<[/!]?[a-z][a-z0-9]*( [a-z-]+="[^"]*")*( html)?>$/.test(tag))).toEqual([]);
    expect(textOf(markup).split(evil).length).toBeGreaterThan(15);
  });
});

test('renders a page for an empty API document', () => {
  const empty = { info: { title: 'x', version: '1' }, paths: {}, components: {} };
  expect(textOf(docsPage(empty))).toContain('x 1: the API');
});
