import { describe, expect, test } from 'vitest';
import { useProxyFixture } from './chaos-proxy-fixture.ts';
import { reports } from '../../support/chaos-proxy.ts';

const fixture = useProxyFixture();
const frame = (data: string): string => `data: ${data}\n\n`;

describe('without faults', () => {
  test('forwards calls and logs them with their responses', async () => {
    expect(await fixture.post('/a?b=1', '{"x":1}')).toBe('200 {"x":1}');
    expect(fixture.server.calls).toEqual(['POST /a?b=1 {"x":1}']);
    expect(fixture.proxy.log).toMatchObject([
      {
        method: 'POST',
        path: '/a?b=1',
        body: { x: 1 },
        answer: { status: 200, body: { x: 1 } },
        delivered: true,
      },
    ]);
    expect(fixture.proxy.calls('POST /a')).toHaveLength(1);
    expect(fixture.proxy.calls('GET')).toHaveLength(0);
  });

  test('forwards each frame of a stream, and the end of a stream by client or server', async () => {
    const client = await fixture.stream();
    fixture.server.push(frame('{"n":1}'));
    await client.waitFor('the frame', () => client.text().includes('{"n":1}'));
    expect(fixture.proxy.log[0]).toMatchObject({ open: true, frames: [{ data: { n: 1 }, delivered: true }] });
    client.destroy();
    await fixture.server.waitFor('the end', () => fixture.server.streams.size === 0);

    const second = await fixture.stream();
    for (const stream of fixture.server.streams) stream.end();
    // A chunk of length 0 ends the response.
    await second.waitFor('the last chunk', () => second.text().endsWith('0\r\n\r\n'));
  });

  test('resets the client when the orchestrator breaks a stream', async () => {
    const client = await fixture.stream();
    for (const stream of fixture.server.streams) stream.destroy();
    await client.waitFor('the reset', client.ended);
    expect(client.ended()).toBe('reset');
  });
});

describe('a black hole', () => {
  test('drops data in both directions and leaves the sockets open', async () => {
    const client = await fixture.stream();
    fixture.proxy.blackhole();
    fixture.server.push(frame('1'));
    const secondClient = await fixture.connect();
    secondClient.send('POST /lost HTTP/1.1\r\nhost: server\r\ncontent-length: 2\r\n\r\n{}');
    await fixture.proxy.waitFor('the lost call', () => fixture.proxy.calls('/lost')[0]);
    await fixture.proxy.waitFor('the lost frame', () => fixture.proxy.log[0]?.frames[0]);
    await fixture.proxy.heal();
    // The old connections stay dead after the black hole. A new connection works.
    fixture.server.push(frame('2'));
    await fixture.proxy.waitFor('the second frame', () => fixture.proxy.log[0]?.frames[1]);
    expect(await fixture.post('/found')).toBe('200 {}');
    expect(fixture.server.calls).toEqual(['GET /stream ', 'POST /found {}']);
    expect(client.text()).not.toContain('data:');
    expect([client.ended(), secondClient.ended(), secondClient.text()]).toEqual([null, null, '']);
    expect(fixture.server.streams.size).toBe(1);
  });

  test('hides from the orchestrator that the client disconnected', async () => {
    const client = await fixture.stream();
    fixture.proxy.blackhole('up');
    fixture.server.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
    client.destroy();
    await fixture.proxy.waitFor('its end', () => fixture.proxy.log[0]?.left);
    await fixture.proxy.heal();
    expect(await fixture.post('/found')).toBe('200 {}');
    expect(fixture.server.streams.size).toBe(1);
  });

  test('leaves a stream usable when nothing was sent during the black hole', async () => {
    const client = await fixture.stream();
    fixture.proxy.blackhole();
    await fixture.proxy.heal();
    fixture.server.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
  });
});

describe('a stall', () => {
  test('delays all data until the stall ends, and then delivers the data in order', async () => {
    const client = await fixture.stream();
    fixture.proxy.stall();
    fixture.server.push(frame('1'));
    const post = fixture.post('/late');
    await fixture.proxy.waitFor('the held call', () => fixture.proxy.calls('/late')[0]);
    await fixture.proxy.waitFor('the held frame', () => fixture.proxy.log[0]?.frames[0]);
    expect(fixture.server.calls).toHaveLength(1);
    expect(client.text()).not.toContain('data:');
    fixture.server.push(frame('2'));
    await fixture.proxy.waitFor('another held frame', () => fixture.proxy.log[0]?.frames[1]);
    await fixture.proxy.heal();
    expect(await post).toBe('200 {}');
    await client.waitFor('both', () => /data: 1.*data: 2/s.test(client.text()));
  });

  test('forwards calls to the server when only responses are stalled', async () => {
    fixture.proxy.stall('down');
    const post = fixture.post('/heard');
    await fixture.server.waitFor('the call', () => fixture.server.calls.length === 1);
    await fixture.proxy.waitFor('its answer', () => fixture.proxy.log[0]?.answer);
    expect(fixture.proxy.log[0]?.delivered).toBe(false);
    await fixture.proxy.heal();
    expect(await post).toBe('200 {}');
  });
});

describe('connection faults', () => {
  test('resets both sides of a cut connection', async () => {
    const client = await fixture.stream();
    fixture.proxy.cut();
    await client.waitFor('the reset', client.ended);
    expect(client.ended()).toBe('reset');
    await fixture.server.waitFor('the end', () => fixture.server.streams.size === 0);
    expect(await fixture.post('/again')).toBe('200 {}');
  });

  test('cuts connections whose client left during a black hole', async () => {
    const client = await fixture.stream();
    fixture.proxy.blackhole();
    client.destroy();
    await fixture.proxy.waitFor('its end', () => fixture.proxy.log[0]?.left);
    fixture.proxy.cut();
    await fixture.server.waitFor('the end', () => fixture.server.streams.size === 0);
  });

  test('refuses new connections, keeps open connections, and accepts again on the same port', async () => {
    const client = await fixture.stream();
    fixture.proxy.refuse();
    await expect(fixture.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    fixture.server.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
    await fixture.proxy.heal();
    expect(await fixture.post('/again')).toBe('200 {}');
  });

  test('keeps the connection to the orchestrator open when the client side is half-open', async () => {
    const client = await fixture.stream();
    fixture.proxy.halfOpen('client');
    fixture.server.push(frame('1'));
    await fixture.proxy.waitFor('the frame', () => fixture.proxy.log[0]?.frames[0]);
    client.destroy();
    await fixture.proxy.waitFor('its end', () => fixture.proxy.log[0]?.left);
    expect(await fixture.post('/other')).toBe('200 {}');
    expect(client.text()).not.toContain('data:');
    expect(fixture.server.streams.size).toBe(1);
  });

  test('keeps the connection to the client open when the orchestrator side is half-open', async () => {
    const client = await fixture.stream();
    fixture.proxy.halfOpen('orchestrator');
    await fixture.server.waitFor('the end', () => fixture.server.streams.size === 0);
    expect(await fixture.post('/other')).toBe('200 {}');
    expect(client.ended()).toBe(null);
  });

  test('delays requests and responses', async () => {
    fixture.proxy.delay(100);
    const startedAt = performance.now();
    expect(await fixture.post('/slow')).toBe('200 {}');
    // Both directions are delayed by 100 ms. Timers may fire slightly early.
    expect(performance.now() - startedAt).toBeGreaterThan(198);
    await fixture.proxy.heal();
  });

  test('delivers the first part of a frame when it resets the stream within this frame', async () => {
    const client = await fixture.stream();
    const done = fixture.proxy.resetInFrame('"type":"job');
    fixture.server.push(frame('{"type":"ping"}'));
    fixture.server.push(frame('{"a":1,"type":"job_submit"}'));
    await done;
    await client.waitFor('the reset', client.ended);
    expect(client.text()).toMatch(/data: \{"type":"ping"\}[^]*data: \{"a":1,"type":"job\s*$/);
    expect(client.ended()).toBe('reset');
    await fixture.server.waitFor('the end', () => fixture.server.streams.size === 0);
  });
});

describe('rules', () => {
  test('drops a matching call once without a response', async () => {
    fixture.proxy.rule({ call: 'POST /a', where: reports('starting'), action: 'drop', times: 1 });
    const client = await fixture.connect();
    client.send('POST /a HTTP/1.1\r\nhost: server\r\ncontent-length: 21\r\n\r\n{"status":"starting"}');
    await fixture.proxy.waitFor('the call', () => fixture.proxy.log[0]);
    expect(await fixture.post('/a', '{"status":"running"}')).toContain('200');
    // The rule applies only once.
    expect(await fixture.post('/a', '{"status":"starting"}')).toContain('200');
    expect(fixture.server.calls).toHaveLength(2);
    expect([client.text(), client.ended()]).toEqual(['', null]);
  });

  test('resets calls before they reach the server, until the rule is removed', async () => {
    const removeRule = fixture.proxy.rule({ action: 'reset' });
    await expect(fixture.post('/a')).rejects.toThrow('fetch failed');
    removeRule();
    expect(await fixture.post('/a')).toBe('200 {}');
    expect(fixture.server.calls).toHaveLength(1);
  });

  test.each([
    ['lose_answer', null],
    ['reset_answer', 'reset'],
  ] as const)('delivers the call but not its response with the action %s', async (action, ended) => {
    fixture.proxy.rule({ call: '/a', action });
    const client = await fixture.connect();
    client.send('POST /a HTTP/1.1\r\nhost: server\r\ncontent-length: 2\r\n\r\n{}');
    await fixture.proxy.waitFor('the answer', () => fixture.proxy.log[0]?.answer);
    if (ended !== null) await client.waitFor('the reset', client.ended);
    expect(await fixture.post('/b')).toBe('200 {}');
    expect([client.text(), client.ended()]).toEqual(['', ended]);
    expect(fixture.proxy.log[0]).toMatchObject({ answer: { status: 200 }, delivered: false });
  });

  test('delivers a duplicated call twice and responds once', async () => {
    fixture.proxy.rule({ action: 'duplicate' });
    expect(await fixture.post('/a', '{"x":1}')).toBe('200 {"x":1}');
    await fixture.server.waitFor('both', () => fixture.server.calls.length === 2);
    expect(fixture.server.calls).toEqual(['POST /a {"x":1}', 'POST /a {"x":1}']);
  });

  test('replays a logged call directly to the server, without any faults', async () => {
    await fixture.post('/a', '{"x":1}');
    fixture.proxy.blackhole();
    const [call] = fixture.proxy.log;
    expect(await fixture.proxy.replay(call!)).toEqual({ status: 200, body: { x: 1 } });
    expect(fixture.server.calls).toEqual(['POST /a {"x":1}', 'POST /a {"x":1}']);
  });
});

test('leaves no connection open after close', async () => {
  const client = await fixture.stream();
  fixture.proxy.halfOpen('client');
  await fixture.proxy.close();
  await client.waitFor('its end', client.ended);
  await fixture.server.waitFor('the end of all', () => fixture.server.connections() === 0);
});
