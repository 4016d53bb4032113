import { describe, expect, test } from 'vitest';
import { useProxyBench } from './chaos-proxy-bench.ts';
import { reports } from '../../support/chaos-proxy.ts';

const bench = useProxyBench();
const frame = (data: string): string => `data: ${data}\n\n`;

describe('without faults', () => {
  test('forwards calls and logs them with their responses', async () => {
    expect(await bench.post('/a?b=1', '{"x":1}')).toBe('200 {"x":1}');
    expect(bench.far.calls).toEqual(['POST /a?b=1 {"x":1}']);
    expect(bench.proxy.log).toMatchObject([
      {
        method: 'POST',
        path: '/a?b=1',
        body: { x: 1 },
        answer: { status: 200, body: { x: 1 } },
        delivered: true,
      },
    ]);
    expect(bench.proxy.calls('POST /a')).toHaveLength(1);
    expect(bench.proxy.calls('GET')).toHaveLength(0);
  });

  test('forwards a stream frame by frame and its end in both directions', async () => {
    const client = await bench.stream();
    bench.far.push(frame('{"n":1}'));
    await client.waitFor('the frame', () => client.text().includes('{"n":1}'));
    expect(bench.proxy.log[0]).toMatchObject({ open: true, frames: [{ data: { n: 1 }, delivered: true }] });
    client.destroy();
    await bench.far.waitFor('the end', () => bench.far.streams.size === 0);

    const other = await bench.stream();
    for (const stream of bench.far.streams) stream.end();
    await other.waitFor('the last chunk', () => other.text().endsWith('0\r\n\r\n'));
  });

  test('resets the client when a stream breaks at the orchestrator', async () => {
    const client = await bench.stream();
    for (const stream of bench.far.streams) stream.destroy();
    await client.waitFor('the reset', client.ended);
    expect(client.ended()).toBe('reset');
  });
});

describe('a black hole', () => {
  test('swallows both directions and leaves the sockets open', async () => {
    const client = await bench.stream();
    bench.proxy.blackhole();
    bench.far.push(frame('1'));
    const late = await bench.connect();
    late.send('POST /lost HTTP/1.1\r\nhost: far\r\ncontent-length: 2\r\n\r\n{}');
    await bench.proxy.waitFor('the lost call', () => bench.proxy.calls('/lost')[0]);
    await bench.proxy.waitFor('the lost frame', () => bench.proxy.log[0]?.frames[0]);
    await bench.proxy.heal();
    // Data that was swallowed stays lost on both connections. A new connection works.
    bench.far.push(frame('2'));
    await bench.proxy.waitFor('the frame after it', () => bench.proxy.log[0]?.frames[1]);
    expect(await bench.post('/found')).toBe('200 {}');
    expect(bench.far.calls).toEqual(['GET /stream ', 'POST /found {}']);
    expect(client.text()).not.toContain('data:');
    expect([client.ended(), late.ended(), late.text()]).toEqual([null, null, '']);
    expect(bench.far.streams.size).toBe(1);
  });

  test("hides the client's disconnect from the orchestrator", async () => {
    const client = await bench.stream();
    bench.proxy.blackhole('up');
    bench.far.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
    client.destroy();
    await bench.proxy.waitFor('its end', () => bench.proxy.log[0]?.left);
    await bench.proxy.heal();
    expect(await bench.post('/found')).toBe('200 {}');
    expect(bench.far.streams.size).toBe(1);
  });

  test('leaves a stream intact that was silent during the black hole', async () => {
    const client = await bench.stream();
    bench.proxy.blackhole();
    await bench.proxy.heal();
    bench.far.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
  });
});

describe('a stall', () => {
  test('holds everything back in order until it ends', async () => {
    const client = await bench.stream();
    bench.proxy.stall();
    bench.far.push(frame('1'));
    const post = bench.post('/late');
    await bench.proxy.waitFor('the held call', () => bench.proxy.calls('/late')[0]);
    await bench.proxy.waitFor('the held frame', () => bench.proxy.log[0]?.frames[0]);
    expect(bench.far.calls).toHaveLength(1);
    expect(client.text()).not.toContain('data:');
    bench.far.push(frame('2'));
    await bench.proxy.waitFor('another held frame', () => bench.proxy.log[0]?.frames[1]);
    await bench.proxy.heal();
    expect(await post).toBe('200 {}');
    await client.waitFor('both', () => /data: 1[^]*data: 2/.test(client.text()));
  });

  test('lets the other direction pass when only one is stalled', async () => {
    bench.proxy.stall('down');
    const post = bench.post('/heard');
    await bench.far.waitFor('the call', () => bench.far.calls.length === 1);
    await bench.proxy.waitFor('its answer', () => bench.proxy.log[0]?.answer);
    expect(bench.proxy.log[0]?.delivered).toBe(false);
    await bench.proxy.heal();
    expect(await post).toBe('200 {}');
  });
});

describe('connection faults', () => {
  test('resets both sides of a cut connection', async () => {
    const client = await bench.stream();
    bench.proxy.cut();
    await client.waitFor('the reset', client.ended);
    expect(client.ended()).toBe('reset');
    await bench.far.waitFor('the end', () => bench.far.streams.size === 0);
    expect(await bench.post('/again')).toBe('200 {}');
  });

  test('cuts connections whose client left during a black hole', async () => {
    const client = await bench.stream();
    bench.proxy.blackhole();
    client.destroy();
    await bench.proxy.waitFor('its end', () => bench.proxy.log[0]?.left);
    bench.proxy.cut();
    await bench.far.waitFor('the end', () => bench.far.streams.size === 0);
  });

  test('refuses new connections, keeps open ones, and heals on the same port', async () => {
    const client = await bench.stream();
    bench.proxy.refuse();
    await expect(bench.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    bench.far.push(frame('1'));
    await client.waitFor('the frame', () => client.text().includes('data: 1'));
    await bench.proxy.heal();
    expect(await bench.post('/again')).toBe('200 {}');
  });

  test("keeps the orchestrator's side open when the client's side is dead", async () => {
    const client = await bench.stream();
    bench.proxy.halfOpen('client');
    bench.far.push(frame('1'));
    await bench.proxy.waitFor('the frame', () => bench.proxy.log[0]?.frames[0]);
    client.destroy();
    await bench.proxy.waitFor('its end', () => bench.proxy.log[0]?.left);
    expect(await bench.post('/other')).toBe('200 {}');
    expect(client.text()).not.toContain('data:');
    expect(bench.far.streams.size).toBe(1);
  });

  test("keeps the client's side open when the orchestrator's side is dead", async () => {
    const client = await bench.stream();
    bench.proxy.halfOpen('orchestrator');
    await bench.far.waitFor('the end', () => bench.far.streams.size === 0);
    expect(await bench.post('/other')).toBe('200 {}');
    expect(client.ended()).toBe(null);
  });

  test('delays responses in order', async () => {
    bench.proxy.delay(100);
    const before = performance.now();
    expect(await bench.post('/slow')).toBe('200 {}');
    // Both directions are delayed by 100 ms. Timers may fire slightly early.
    expect(performance.now() - before).toBeGreaterThan(198);
    await bench.proxy.heal();
  });

  test('delivers a partial frame when it resets in the middle of one', async () => {
    const client = await bench.stream();
    const done = bench.proxy.resetInFrame('"type":"job');
    bench.far.push(frame('{"type":"ping"}'));
    bench.far.push(frame('{"a":1,"type":"job_submit"}'));
    await done;
    await client.waitFor('the reset', client.ended);
    expect(client.text()).toMatch(/data: \{"type":"ping"\}[^]*data: \{"a":1,"type":"job\s*$/);
    expect(client.ended()).toBe('reset');
    await bench.far.waitFor('the end', () => bench.far.streams.size === 0);
  });
});

describe('rules', () => {
  test('drops a call without a response', async () => {
    bench.proxy.rule({ call: 'POST /a', where: reports('starting'), fate: 'drop', times: 1 });
    const client = await bench.connect();
    client.send('POST /a HTTP/1.1\r\nhost: far\r\ncontent-length: 21\r\n\r\n{"status":"starting"}');
    await bench.proxy.waitFor('the call', () => bench.proxy.log[0]);
    expect(await bench.post('/a', '{"status":"running"}')).toContain('200');
    // The rule applies only once.
    expect(await bench.post('/a', '{"status":"starting"}')).toContain('200');
    expect(bench.far.calls).toHaveLength(2);
    expect([client.text(), client.ended()]).toEqual(['', null]);
  });

  test('resets a call before it arrives, until the rule is removed', async () => {
    const removeRule = bench.proxy.rule({ fate: 'reset' });
    await expect(bench.post('/a')).rejects.toThrow('fetch failed');
    removeRule();
    expect(await bench.post('/a')).toBe('200 {}');
    expect(bench.far.calls).toHaveLength(1);
  });

  test.each([
    ['lose_answer', null],
    ['reset_answer', 'reset'],
  ] as const)('delivers the call but not its response with %s', async (fate, ended) => {
    bench.proxy.rule({ call: '/a', fate });
    const client = await bench.connect();
    client.send('POST /a HTTP/1.1\r\nhost: far\r\ncontent-length: 2\r\n\r\n{}');
    await bench.proxy.waitFor('the answer', () => bench.proxy.log[0]?.answer);
    if (ended !== null) await client.waitFor('the reset', client.ended);
    expect(await bench.post('/b')).toBe('200 {}');
    expect([client.text(), client.ended()]).toEqual(['', ended]);
    expect(bench.proxy.log[0]).toMatchObject({ answer: { status: 200 }, delivered: false });
  });

  test('delivers a duplicated call twice and responds once', async () => {
    bench.proxy.rule({ fate: 'duplicate' });
    expect(await bench.post('/a', '{"x":1}')).toBe('200 {"x":1}');
    await bench.far.waitFor('both', () => bench.far.calls.length === 2);
    expect(bench.far.calls).toEqual(['POST /a {"x":1}', 'POST /a {"x":1}']);
  });

  test('replays a logged call past all faults', async () => {
    await bench.post('/a', '{"x":1}');
    bench.proxy.blackhole();
    const [call] = bench.proxy.log;
    expect(await bench.proxy.replay(call!)).toEqual({ status: 200, body: { x: 1 } });
    expect(bench.far.calls).toEqual(['POST /a {"x":1}', 'POST /a {"x":1}']);
  });
});

test('leaves no connection open after close', async () => {
  const client = await bench.stream();
  bench.proxy.halfOpen('client');
  await bench.proxy.close();
  await client.waitFor('its end', client.ended);
  await bench.far.waitFor('the end of all', () => bench.far.connections() === 0);
});
