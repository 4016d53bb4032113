import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Reachable } from '../attempt/rendezvous.ts';

/** Finds the address at which other machines reach this one, and a port that is free at the moment. */
export const findReachable = async (
  nodeAddress: string | null,
  orchestratorUrl: string,
): Promise<Reachable> => ({
  address: nodeAddress ?? (await localAddress(orchestratorUrl)),
  port: await freePort(),
});

/** Returns the local address of a connection to the orchestrator; null when there is no route to the orchestrator. */
async function localAddress(url: string): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  try {
    const { address, family } = await lookup(hostname.replace(/^\[|\]$/g, ''));
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
      // A UDP connect chooses a route, and sends nothing.
      socket.connect(Number(port) || (protocol === 'https:' ? 443 : 80), address);
      await once(socket, 'connect');
      return socket.address().address;
    } finally {
      socket.close();
    }
  } catch {
    return null;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The system gave no port');
  return address.port;
}
