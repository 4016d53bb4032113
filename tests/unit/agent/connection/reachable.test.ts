import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { findReachable } from '../../../../agent/connection/reachable.ts';

describe('address at which other workers reach a worker', () => {
  it.each([
    ['http://127.0.0.1:8001', '127.0.0.1'],
    ['https://127.0.0.1/trainyard', '127.0.0.1'],
    ['http://localhost:8001', expect.stringMatching(/^(?:127\.0\.0\.1|::1)$/)],
  ])('returns the local address of the connection to %s by default', async (url, address) => {
    expect(await findReachable(null, url)).toMatchObject({ address });
  });

  it('returns the address that the owner has set', async () => {
    expect(await findReachable('rig-0.example.org', 'http://127.0.0.1:8001')).toMatchObject({
      address: 'rig-0.example.org',
    });
  });

  it('returns null when the name of the orchestrator cannot be resolved', async () => {
    expect(await findReachable(null, 'http://nowhere.invalid:8001')).toMatchObject({ address: null });
  });

  it('finds the address without sending anything to the orchestrator', async () => {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    const received: string[] = [];
    socket.on('message', message => received.push(String(message)));
    await findReachable(null, `http://127.0.0.1:${port}`);
    // Loopback keeps the order, so an earlier packet would arrive before this packet.
    socket.send('after', port, '127.0.0.1');
    await once(socket, 'message');
    expect(received).toEqual(['after']);
    socket.close();
  });

  it('returns a port on which a trainer can listen', async () => {
    const { port } = await findReachable(null, 'http://127.0.0.1:8001');
    const server = createServer();
    server.listen(port);
    await once(server, 'listening');
    expect(server.address()).toMatchObject({ port });
    server.close();
  });
});
