/** `trainyard mcp` serves the API to a client of the official SDK of the Model Context Protocol. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { tokensApi } from '../../protocol/tokens-api.ts';
import type { Permission } from '../../protocol/call.ts';
import { cliFile } from '../support/program-files.ts';
import { temporaryFolder, trainyard } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  return () => server.close();
});

async function tokenFile(permissions: readonly Permission[]): Promise<string> {
  const body = { name: `assistant-${permissions.join('-')}`, permissions: [...permissions] };
  const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, token);
  chmodSync(file, 0o600);
  return file;
}

/** Starts `trainyard mcp` as an AI assistant does, and connects to it. */
async function connect(permissions: readonly Permission[], ...flags: readonly string[]) {
  const client = new Client({ name: 'test', version: '1' });
  const args = ['mcp', '--url', server.url, '--token-file', await tokenFile(permissions), ...flags];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [cliFile, ...args],
      stderr: 'ignore',
    }),
  );
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  return {
    names: tools.map(({ name }) => name),
    tools,
    /** Calls a tool and returns its text. */
    async call(name: string, input: Record<string, unknown> = {}) {
      const { content, isError = false } = Result.parse(await client.callTool({ name, arguments: input }));
      return { text: content.map(({ text }) => text).join('\n'), isError };
    },
  };
}

const Result = z.object({
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  isError: z.boolean().optional(),
});
const JobIds = z.object({ entries: z.array(z.object({ job_id: z.string() })) });

test('offers only read-only tools without --allow-write', async () => {
  const id = await server.submit({ config_name: 'portraits', config: { rank: 16 } });
  const { tools, names, call } = await connect(['queue.view', 'queue.submit', 'queue.manage']);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  expect(names).toEqual(expect.arrayContaining(['listJobs', 'getJob', 'explainJob', 'searchLog']));
  const { text } = await call('listJobs', { q: 'portraits', limit: 5 });
  expect(JobIds.parse(JSON.parse(text)).entries.map(entry => entry.job_id)).toEqual([id]);
  expect((await call('explainJob', { id })).text).toContain('No idle workers');
  await expect(call('submitJob', { body: { config_name: 'more', config: {} } })).resolves.toEqual({
    text: 'There is no tool submitJob, or the token may not use it.',
    isError: true,
  });
});

test('submits and cancels a job with --allow-write', async () => {
  const { call } = await connect(['queue.view', 'queue.submit', 'queue.cancel'], '--allow-write');
  const submitted = await call('submitJob', { body: { config_name: 'by-assistant', config: { rank: 8 } } });
  const { job_id: id } = z.object({ job_id: z.string() }).parse(JSON.parse(submitted.text));
  const next = await call('submitJob', { body: { config_name: 'next', config: {}, after: [id] } });
  expect(JSON.parse(next.text)).toMatchObject({ reason: 'Waits for by-assistant (pending)' });
  expect((await call('cancelJob', { id })).isError).toBe(false);
  const { text } = await call('getJob', { id });
  expect(JSON.parse(text)).toMatchObject({ config_name: 'by-assistant', status: 'cancelled' });
});

test('offers no operation that the token may not call, and none that returns the secret of a token', async () => {
  const viewer = await connect(['queue.view.own'], '--allow-write');
  expect(viewer.names).toContain('listOwnJobs');
  for (const name of ['listWorkers', 'submitJob', 'cancelJob', 'listAuditEntries'])
    expect(viewer.names).not.toContain(name);
  const admin = await connect(['admin.workers', 'admin.tokens'], '--allow-write');
  expect(admin.names).toContain('drainWorker');
  for (const name of ['createWorker', 'rotateWorkerToken', 'createJoinToken', 'createToken', 'listTokens'])
    expect(admin.names).not.toContain(name);
});

test('gives each tool a schema that contains all its definitions', async () => {
  const { tools } = await connect(['queue.view', 'queue.submit', 'admin.pools'], '--allow-write');
  for (const { name, inputSchema } of tools) {
    const references = [...JSON.stringify(inputSchema).matchAll(/"\$ref":"([^"]+)"/g)];
    const definitions = Object.keys(
      z.looseObject({ $defs: z.object({}).loose().default({}) }).parse(inputSchema).$defs,
    );
    const missing = references.filter(
      ([, reference = '']) => !definitions.includes(reference.replace('#/$defs/', '')),
    );
    expect({ name, missing }).toEqual({ name, missing: [] });
  }
});

test('returns the reason of a refused request to the assistant, with the invalid fields', async () => {
  const { call } = await connect(['queue.view', 'queue.submit'], '--allow-write');
  const refused = await call('submitJob', { body: { config_name: '', config: {} } });
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain('invalid_request, status 400');
  expect(refused.text).toContain('config_name: ');
  expect(await call('getJob', { id: 'j_missing' })).toMatchObject({ isError: true });
  // An id cannot lead to the path of another operation.
  const outside = await call('getJob', { id: '../version' });
  expect(outside.isError).toBe(true);
  expect(outside.text).toContain('404');
});

test('truncates a response that is too long, and tells the assistant how to request less', async () => {
  for (let n = 0; n < 100; n += 1)
    await server.submit({ config_name: `long-${n}-${'x'.repeat(150)}`, config: {} });
  const { call } = await connect(['queue.view']);
  const { text, isError } = await call('listJobs', { limit: 100 });
  expect(isError).toBe(false);
  expect(text.length).toBeLessThan(60_300);
  expect(text.slice(-200)).toMatch(/\[The response is longer than 60000 characters\. Ask for less: .*\]$/);
});

test('exits with a message when the token may use no tool', async () => {
  const file = await tokenFile(['admin.tokens']);
  const program = trainyard(['mcp', '--url', server.url, '--token-file', file]);
  const { code } = await program.exited;
  expect({ code, lines: program.lines }).toEqual({
    code: 3,
    lines: ['The token has no permission that a tool needs. Create one with queue.view'],
  });
});
