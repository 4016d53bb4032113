/** A worker process with a pin sends its token only to a server with a pinned key. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { startWorker } from '../support/processes.ts';
import { startTestServer } from '../support/server.ts';
import { makeIdentity } from '../support/tls/identity.ts';
import { httpAnswer, startListener } from '../support/tls/listener.ts';

async function startFleet() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const worker = await server.createWorker({ name: 'rig-1' });
  return { server, ...worker };
}

describe('a worker with a pin', () => {
  test('joins the server with the pinned key, and runs a job', async () => {
    const { server, id, token } = await startFleet();
    const identity = await makeIdentity({ names: ['elsewhere.test'] });
    const front = await startListener(identity, { to: server.url });
    const program = startWorker({ url: front.url, token, args: ['--pin', identity.pin] });
    await program.waitForLine(/^Connected to https:/);
    await server.watch.worker(id, 'idle');
    // The worker exits after this short job, so wait for a heartbeat before the job starts.
    await front.waitForText('/api/workers/heartbeat');
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 0.2 } });
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
    expect((await program.exited).code).toBe(0);
    for (const call of ['register', 'stream', `job/${job}/status`, 'disconnect'])
      expect(front.received()).toContain(`/api/workers/${call}`);
  });

  test('sends nothing to a server with another key, and joins when the server presents the pinned key', async () => {
    const { server, id, token } = await startFleet();
    const [pinnedIdentity, otherIdentity] = [await makeIdentity(), await makeIdentity()];
    const front = await startListener(otherIdentity, { to: server.url });
    const program = startWorker({ url: front.url, token, args: ['--pin', pinnedIdentity.pin] });
    const [message] = await program.waitForLine(/^SSL certificate verify failed.*/);
    expect(message).toContain(`it presented ${otherIdentity.pin}`);
    expect(message).toMatch(/Trying again$/);
    await front.ended(2);
    expect(front.connections()).toBeGreaterThanOrEqual(2);
    expect(front.wire().length).toBeGreaterThan(100);
    expect(front.received()).toBe('');
    expect(program.lines.filter(line => line.startsWith('SSL certificate'))).toHaveLength(1);
    front.present(pinnedIdentity);
    await program.waitForLine(/^Connected to https:/);
    await server.watch.worker(id, 'idle');
    expect(program.lines.join('\n')).not.toContain(token);
  });

  test('accepts the second of two pinned keys after the server changed its key', async () => {
    const { server, id, token } = await startFleet();
    const [oldIdentity, newIdentity] = [await makeIdentity(), await makeIdentity()];
    const front = await startListener(oldIdentity, { to: server.url });
    const pins = `${oldIdentity.pin},${newIdentity.pin}`;
    startWorker({ url: front.url, token, args: ['--persistent', '--pin', pins] });
    await server.watch.worker(id, 'idle');
    front.present(newIdentity);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 0.2 } });
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  test('does not follow a redirect of the server, and sends nothing to its target', async () => {
    const identity = await makeIdentity();
    const target = await startListener(identity);
    const location = `${target.url}/api/workers/register`;
    const front = await startListener(identity, { answer: httpAnswer(307, '', { location }) });
    const program = startWorker({ url: front.url, token: 'wt_canary', args: ['--pin', identity.pin] });
    const [message] = await program.waitForLine(/redirects to .*/);
    expect(message).toContain(`redirects to ${location}. The token was not sent there`);
    expect(target.connections()).toBe(0);
  });

  test.each<[string, string, readonly string[], RegExp]>([
    [
      'an http address',
      'http://127.0.0.1:1',
      [],
      /^--pin is for https:\/\/.*would get the token unencrypted/,
    ],
    [
      '--ssl-no-verify',
      'https://127.0.0.1:1',
      ['--ssl-no-verify'],
      /^--pin and --ssl-no-verify contradict each other/,
    ],
    [
      'a malformed pin',
      'https://127.0.0.1:1',
      ['--pin', 'sha1:x'],
      /^"sha1:x" is not a pin: use --pin sha256:A+=/,
    ],
  ])('exits with 2 when --pin is combined with %s', async (_what, url, more, message) => {
    const { pin } = await makeIdentity();
    const program = startWorker({ url, token: 'wt_canary', args: ['--pin', pin, ...more] });
    expect((await program.exited).code).toBe(2);
    expect(program.lines).toEqual([expect.stringMatching(message)]);
  });
});
