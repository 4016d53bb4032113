export { createGateway, type Gateway, type FarFleet } from './gateway/gateway.ts';
export { parseFleetAddress } from './gateway/gateway.ts';
