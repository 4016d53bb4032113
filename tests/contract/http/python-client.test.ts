// The Python client, run by the system's python3 against a real server.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonClient } from '../../../dev/clients/python.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

const root = join(import.meta.dirname, '../../..');
const client = join(root, 'clients/python/trainyard.py');
const run = promisify(execFile);

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

// Runs a Python script in which `fleet` is the client. `say(value)` prints a value as JSON. Returns the printed JSON.
async function python(script: string, url = server.url, token = server.adminToken): Promise<unknown> {
  const head = `import json, os, sys
from trainyard import Trainyard, TrainyardError
fleet = Trainyard(os.environ["URL"], os.environ["TOKEN"])
def say(value): print(json.dumps(value))
`;
  const env = {
    PATH: process.env['PATH'],
    URL: url,
    TOKEN: token,
    PYTHONPATH: join(root, 'clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const { stdout } = await run('python3', ['-c', head + script], { env, timeout: 30_000 });
  return JSON.parse(stdout);
}

test('matches the Python client to the API of the server (otherwise run `npm run clients`)', async () => {
  const document: unknown = await (await fetch(`${server.url}/openapi.json`)).json();
  const read = (name: string) => readFileSync(join(root, 'dev/clients', name), 'utf8');
  const text = pythonClient(document, { runtime: read('runtime.py'), facade: read('facade.py') });
  expect(readFileSync(client, 'utf8')).toBe(text);
});

describe('the Python client', () => {
  test('submits a job, lists it, explains it, cancels it and waits for its end', async () => {
    expect(
      await python(`
job = fleet.submit_job(config={"steps": 3}, config_name="flux-lora", priority="high", timeout_s=60)
found = fleet.list_jobs(q="flux-lora", limit=1)["entries"]
why = fleet.explain_job(job["job_id"])["summary"]
fleet.cancel_job(job["job_id"])
ended = fleet.wait(job["job_id"], every=0.05)
say([found[0]["id"] == job["job_id"], found[0]["priority"], why != "", ended["status"]])`),
    ).toEqual([true, 20, true, 'cancelled']);
  });

  test('raises TimeoutError when a job has not ended within the timeout', async () => {
    expect(
      await python(`
job = fleet.submit_job(config={})["job_id"]
try:
    fleet.wait(job, timeout=0.1, every=0.02)
except TimeoutError as error:
    say(str(error))
finally:
    fleet.cancel_job(job)`),
    ).toMatch(/^job \S+ is still pending after 0.1 seconds$/);
  });

  test('raises an error with the status, the code and the detail of the response', async () => {
    const refusal = `
try:
    fleet.get_job("nobody")
except TrainyardError as error:
    say([error.status, error.code, error.detail])`;
    expect(await python(refusal)).toEqual([404, 'job_not_found', expect.stringContaining('nobody')]);
    expect(await python(refusal, server.url, 'wrong')).toEqual([401, 'token_invalid', expect.any(String)]);
    expect(await python(refusal, 'http://127.0.0.1:9')).toEqual([
      null,
      'unreachable',
      expect.stringContaining('http://127.0.0.1:9 does not answer'),
    ]);
  });

  test('refuses a URL that is not http or https', async () => {
    await expect(python('say(1)', 'ftp://nowhere')).rejects.toThrow(
      /'ftp:\/\/nowhere' is no address of a server/,
    );
  });

  test('sends null for None, and omits arguments that are not passed', async () => {
    expect(
      await python(`
fleet.change_limits(max_concurrent=3)
fleet.change_limits(user_max_concurrent=2)
both = fleet.get_limits()
fleet.change_limits(max_concurrent=None, user_max_concurrent=None)
none = fleet.get_limits()
say([both["max_concurrent"], both["user_max_concurrent"], none["max_concurrent"]])`),
    ).toEqual([3, 2, null]);
  });

  test('yields new events from the event stream', async () => {
    expect(
      await python(`
events = fleet.stream_events()
job = fleet.submit_job(config={})["job_id"]
event = next(event for event in events if event.get("job_id") == job)
fleet.cancel_job(job)
say(event["type"])`),
    ).toBe('job.submitted');
  });

  test('uploads bytes and files', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'image'), 'cat');
    expect(
      await python(`
import hashlib
digest = hashlib.sha256(b"cat").hexdigest()
with open(${JSON.stringify(join(folder, 'image'))}, "rb") as file:
    stored = fleet.upload_content(digest, file)["bytes"]
again = fleet.upload_content(hashlib.sha256(b"dog!").hexdigest(), b"dog!")["bytes"]
say([stored, again])`),
    ).toEqual([3, 4]);
  });

  test('never sends its token to the target of a redirect', async () => {
    const visited: (string | undefined)[] = [];
    const redirectTarget = createServer((request, response) => {
      visited.push(request.headers.authorization);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    const target = () => `http://127.0.0.1:${(redirectTarget.address() as AddressInfo).port}`;
    await new Promise(resolve => redirectTarget.once('listening', resolve));
    const redirect = createServer((_request, response) =>
      response.writeHead(302, { location: target() }).end(),
    ).listen(0, '127.0.0.1');
    await new Promise(resolve => redirect.once('listening', resolve));
    const url = `http://127.0.0.1:${(redirect.address() as AddressInfo).port}`;
    try {
      expect(
        await python(
          'try:\n    fleet.get_queue()\nexcept TrainyardError as error:\n    say(error.status)',
          url,
        ),
      ).toBe(302);
      expect(visited).toEqual([]);
    } finally {
      for (const listener of [redirectTarget, redirect]) listener.close();
    }
  });

  test('writes a complete download to its file, and leaves no file of an interrupted download', async () => {
    const folder = temporaryFolder();
    let isBroken = false;
    const files = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '6' });
      response.write('abc', () => (isBroken ? response.destroy() : response.end('def')));
    }).listen(0, '127.0.0.1');
    await new Promise(resolve => files.once('listening', resolve));
    const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
    const load = `
import os
to = ${JSON.stringify(join(folder, 'model'))}
try:
    size = fleet.download_artifact("j1", "checkpoint-1/model.bin", to)
except TrainyardError as error:
    size = error.code
say([size, sorted(os.listdir(${JSON.stringify(folder)}))])`;
    try {
      expect(await python(load, url)).toEqual([6, ['model']]);
      isBroken = true;
      expect(await python(load, url)).toEqual(['incomplete', ['model']]);
      expect(readFileSync(join(folder, 'model'), 'utf8')).toBe('abcdef');
    } finally {
      files.close();
    }
  });

  test('runs the notebook in the repository', async () => {
    const text = readFileSync(join(root, 'clients/python/compare-runs.ipynb'), 'utf8');
    const { cells } = JSON.parse(text) as {
      readonly cells: readonly { readonly cell_type: string; readonly source: readonly string[] }[];
    };
    const code = cells.filter(({ cell_type: type }) => type === 'code').map(({ source }) => source.join(''));
    const script = `
import threading, time
def cancel_all():
    while True:
        for job in fleet.list_jobs(status="pending", limit=10)["entries"]:
            fleet.cancel_job(job["id"])
        time.sleep(0.05)

threading.Thread(target=cancel_all, daemon=True).start()
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(${JSON.stringify(code.join('\n\n'))})
say([len(jobs), sorted(set(statuses.values())), printed.getvalue().count("learning rate")])`;
    expect(await python(script)).toEqual([3, ['cancelled'], 3]);
  });
});
