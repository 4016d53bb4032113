import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Program,
  root,
  startServer,
  startWorker,
  temporaryFolder,
  trainyard,
} from '../support/processes.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { startTestServer, valueOf } from '../support/server.ts';

describe('trainyard server', () => {
  test('prints one line when the server is ready, and stops the server cleanly on SIGTERM', async () => {
    const server = await startServer();
    expect(JSON.parse(server.lines[0] ?? '')).toEqual({
      ready: true,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      pid: server.pid,
      data_dir: server.dataDir,
    });
    expect(statSync(server.dataDir).mode & 0o777).toBe(0o700);
    for (const file of ['admin-token', 'trainyard.db', 'trainyard.db-wal']) {
      expect(statSync(join(server.dataDir, file)).mode & 0o777).toBe(0o600);
    }
    server.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('prints where the panel and the admin token are', async () => {
    const dataDir = temporaryFolder();
    const server = trainyard(['server', '--port', '0', '--data-dir', dataDir]);
    onTestFinished(() => server.kill('SIGKILL'));
    await server.waitForLine(/http:\/\/127\.0\.0\.1:\d+/);
    const [, file = ''] = await server.waitForLine(/Admin token: (.*)/);
    expect(readFileSync(file, 'utf8').trim()).toMatch(/^ta_\S{40,}$/);
  });

  test('keeps its admin token across restarts, and refuses to start when others can read the token file', async () => {
    const first = await startServer();
    const file = join(first.dataDir, 'admin-token');
    const token = readFileSync(file, 'utf8');
    first.kill('SIGTERM');
    await first.exited;
    const second = await startServer([], first.dataDir);
    expect(readFileSync(file, 'utf8')).toBe(token);
    second.kill('SIGTERM');
    await second.exited;
    chmodSync(file, 0o644);
    const third = trainyard(['server', '--port', '0', '--data-dir', first.dataDir]);
    expect((await third.exited).code).toBe(1);
    expect(third.lines.join('\n')).toContain('chmod 600');
  });

  test('prefers flags over the environment, and the environment over the config file', async () => {
    const folder = temporaryFolder();
    const config = join(folder, 'config.json');
    writeFileSync(
      config,
      JSON.stringify({ port: 0, 'heartbeat-timeout': 50, 'data-dir': join(folder, 'data') }),
    );
    const server = trainyard(['server', '--config', config], {
      env: { SIMPLETUNER_HEARTBEAT_TIMEOUT: 'soon' },
    });
    expect((await server.exited).code).toBe(2);
    expect(server.lines.join('\n')).toContain('SIMPLETUNER_HEARTBEAT_TIMEOUT: expected a number');
    const serverWithFlag = trainyard(['server', '--config', config, '--heartbeat-timeout', '60', '--json'], {
      env: { SIMPLETUNER_HEARTBEAT_TIMEOUT: 'soon' },
    });
    onTestFinished(() => serverWithFlag.kill('SIGKILL'));
    await serverWithFlag.waitForLine(/"ready":true/);
    expect(statSync(join(folder, 'data/trainyard.db')).isFile()).toBe(true);
  });

  test.each([
    [['server', '--port', 'many'], 2, /port: /],
    [['server', '--port', '70000'], 2, /port: /],
    [['server', '--nonsense'], 2, /unknown option/],
    [['nonsense'], 2, /unknown command/],
    [['server', '--config', '/nowhere/config.json'], 2, /--config \/nowhere\/config\.json/],
    [['server', '--port', '0', '--host', '192.0.2.1'], 1, /192\.0\.2\.1 is not an address of this machine/],
  ])('prints an error for trainyard %j, and exits with %i', async (args, code, message) => {
    const program = trainyard(args, { env: { XDG_DATA_HOME: temporaryFolder() } });
    expect((await program.exited).code).toBe(code);
    expect(program.lines.join('\n')).toMatch(message);
  });

  test('exits with 1 when its port is in use, and names the port', async () => {
    const first = await startServer();
    onTestFinished(() => first.kill('SIGKILL'));
    const { port } = new URL(first.url);
    const second = trainyard(['server', '--port', port, '--data-dir', temporaryFolder()]);
    expect((await second.exited).code).toBe(1);
    expect(second.lines.join('\n')).toContain(`Port ${port} on 127.0.0.1 is in use`);
  });
});

describe('trainyard worker', () => {
  const worker = (url: string, token: string, args: readonly string[] = []): Program =>
    startWorker({ url, token, args });

  test('reports a refused connection, and keeps trying', async () => {
    const closed = await startTestServer();
    await closed.close();
    const program = worker(closed.url, 'wt_x');
    const [message] = await program.waitForLine(/Connection refused.*/);
    expect(message).toContain('--host 0.0.0.0');
    program.kill('SIGTERM');
    expect((await program.exited).code).toBe(0);
  });

  test('exits with 3 when the server does not know the worker token', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const program = worker(server.url, 'wt_wrong');
    expect((await program.exited).code).toBe(3);
    expect(program.lines.join('\n')).toMatch(/Invalid token.*white space/);
  });

  test('ignores white space around a worker token, and reports white space inside it', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const { token } = await server.createWorker({ name: 'rig-1' });
    await worker(server.url, ` ${token}\n`).waitForLine(/^Connected/);
    const workerWithSplitToken = worker(server.url, `${token.slice(0, 10)} ${token.slice(10)}`);
    expect((await workerWithSplitToken.exited).code).toBe(2);
    expect(workerWithSplitToken.lines.join('\n')).toMatch(/Invalid token: it contains white space/);
  });

  test('accepts a worker token in the arguments, and warns that all users can see it', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const { token } = await server.createWorker({ name: 'rig-1' });
    const program = worker(server.url, '', ['--worker-token', token]);
    await program.waitForLine(/^Connected/);
    expect(program.lines.join('\n')).toContain('every user of this machine can see a token');
  });

  test('rejects an untrusted certificate until --ca-file or --ssl-no-verify is given', async () => {
    const tls = await startTlsServer();
    onTestFinished(() => tls.close());
    const workerWithoutCa = worker(tls.url, 'wt_x');
    const [message] = await workerWithoutCa.waitForLine(/SSL certificate verify failed.*/);
    expect(message).toContain('--ca-file');
    expect(tls.requests()).toBe(0);
    const workerWithCa = worker(tls.url, 'wt_x', ['--ca-file', tls.certificate]);
    expect((await workerWithCa.exited).code).toBe(3);
    const withoutVerification = worker(tls.url, 'wt_x', ['--ssl-no-verify']);
    expect((await withoutVerification.exited).code).toBe(3);
    expect(withoutVerification.lines.join('\n')).toContain('certificates are not checked');
  });

  test('reports a missing trainer, and leaves jobs pending with that reason', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const program = worker(server.url, token, ['--trainer', 'no-such-trainer {config_path}']);
    await program.waitForLine(/No trainer found: no-such-trainer/);
    await server.watch.worker(id, 'idle');
    const job = await server.submit({ config: {} });
    expect(valueOf(await server.admin.call(queueApi.get, { params: { id: job } }))).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('without') as string,
    });
  });

  test('exits with 2 and prints the usage when trainyard worker gets no options', async () => {
    const program = trainyard(['worker'], { env: { XDG_CONFIG_HOME: temporaryFolder() } });
    expect((await program.exited).code).toBe(2);
    expect(program.lines.join('\n')).toContain('--orchestrator-url');
  });
});

/** Starts an https server with a self-signed certificate, which refuses every token. */
async function startTlsServer() {
  const certificate = join(root, 'tests/support/tls/test-cert.pem');
  const key = readFileSync(join(root, 'tests/support/tls/test-key.pem'));
  let requests = 0;
  const server = createServer({ key, cert: readFileSync(certificate) }, (_request, response) => {
    requests += 1;
    response.writeHead(401).end('{}');
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    certificate,
    requests: () => requests,
    close: () => void server.close(),
  };
}
