export { createGateway, type Gateway, type RemoteFleet } from './gateway/gateway.ts';
export { parseFleetAddress } from './gateway/gateway.ts';
