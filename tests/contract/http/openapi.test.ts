import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { problems } from '../../../protocol/problem.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { revalidate } from '../../support/revalidate.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(z.object({ name: z.string(), in: z.enum(['path', 'query']), required: z.boolean() }))
    .default([]),
  requestBody: z.object({ content: z.record(z.string(), z.unknown()) }).optional(),
  responses: z.record(z.string(), z.unknown()),
});
const Document = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), z.unknown()),
    responses: z.object({ Problem: z.object({ description: z.string() }) }),
    securitySchemes: z.record(z.string(), z.unknown()),
  }),
});

let server: TestServer;
let text: string;
let document: z.output<typeof Document>;
beforeAll(async () => {
  server = await startTestServer();
  const response = await fetch(`${server.url}/openapi.json`, { signal: AbortSignal.timeout(5_000) });
  text = await response.text();
  document = Document.parse(JSON.parse(text));
});
afterAll(() => server.close());

const operationOf = ({ method, path }: Call) =>
  document.paths[path.replaceAll(/[:*](\w+)/g, '{$1}')]?.[method.toLowerCase()];

test('answers 304 without a body to a client that has the current OpenAPI document', async () => {
  const url = `${server.url}/openapi.json`;
  const first = await fetch(url);
  const etag = first.headers.get('etag') ?? '';
  expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(etag).toMatch(/^"[\w-]{43}"$/);
  expect([first.status, await first.text()]).toEqual([200, text]);
  expect(await revalidate(url, etag)).toEqual([etag, 304, 0]);
});

test('describes exactly the mounted calls in the OpenAPI document', () => {
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map(method => `${method.toUpperCase()} ${path}`),
  );
  const mounted = rows.map(({ method, path }) => `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`);
  expect(documented.toSorted()).toEqual(mounted.toSorted());
});

test.each(rows.map(row => [`${row.method} ${row.path}`, row] as const))(
  'describes the authority and the path parameters of %s',
  (_name, row) => {
    const operation = operationOf(row);
    const schemes = { open: [], worker: [{ worker: [] }], join: [{ join: [] }], upload: [{ upload: [] }] };
    const expected =
      row.authority === 'open' ||
      row.authority === 'worker' ||
      row.authority === 'join' ||
      row.authority === 'upload'
        ? schemes[row.authority]
        : [{ bearer: [] }];
    expect(operation?.security).toEqual(expected);
    expect(operation?.summary).toBe(row.summary);
    const inPath = operation?.parameters.filter(({ in: place }) => place === 'path') ?? [];
    expect(inPath.map(({ name, required }) => [name, required])).toEqual(
      [...row.path.matchAll(/[:*](\w+)/g)].map(([, name]) => [name, true]),
    );
    expect(Object.keys(operation?.responses ?? {})).toEqual(['200', 'default']);
  },
);

test('gives each operation of the OpenAPI document a unique id', () => {
  const names = rows.map(row => operationOf(row)?.operationId);
  expect(new Set(names).size).toBe(rows.length);
});

test('defines every schema and response that the OpenAPI document refers to', () => {
  const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(20);
  expect(text.match(/"\$ref"/g)).toHaveLength(references.length);
  const { schemas, responses } = document.components;
  for (const [, kind, name = ''] of references)
    expect(Object.keys(kind === 'schemas' ? schemas : responses)).toContain(name);
});

test('describes the limits and defaults of a submit, and the codes of problems', () => {
  const submit = JSON.stringify(operationOf(queueApi.submit)?.requestBody);
  expect(submit).toContain('"priority":{"default":10,"anyOf":[{"type":"integer","minimum":0,"maximum":50}');
  expect(submit).toContain('"additionalProperties":false');
  expect(operationOf(queueApi.list)?.requestBody).toBeUndefined();
  for (const code of Object.keys(problems))
    expect(document.components.responses.Problem.description).toContain(code);
});
