import { type ClientRequest, type RequestOptions, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { DeliveryAnswer } from '../orchestrator/ports/index.ts';
import { answerOfStatus, parseRetryAfter } from './answers.ts';
import type { Address } from './destination.ts';
import type { HttpRequest } from './payloads.ts';

const timeoutMs = 10_000;
/** A longer response is cut off, because its content is never used. */
const maxResponseBytes = 64 * 1_024;

/**
 * Sends a request to one of the checked addresses. Follows no redirect, and reads only the status and Retry-After of the
 * response, so that a channel cannot be used to read other servers.
 */
export function post(
  { url, method, headers, body }: HttpRequest,
  addresses: readonly Address[],
  now: () => number,
): Promise<DeliveryAnswer> {
  const options: RequestOptions = {
    method,
    headers: { ...headers, 'content-length': String(body.length), 'user-agent': 'Trainyard' },
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    lookup: (_host, { all }, done) => {
      const [first] = addresses;
      if (all) done(null, [...addresses]);
      else done(null, first?.address ?? '', first?.family);
    },
  };
  return new Promise(resolve => {
    const fail = (cause: Error): void =>
      resolve({ kind: 'temporary', detail: reasonOf(cause), retryAfterMs: null });
    const send = url.startsWith('https:') ? tlsRequest : plainRequest;
    const request: ClientRequest = send(url, options, response => {
      const answer = answerOfStatus(
        response.statusCode ?? 0,
        parseRetryAfter(response.headers['retry-after'], now()),
      );
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxResponseBytes) response.destroy();
      });
      // The receiver has answered, even if the rest of its response does not arrive.
      response.on('error', () => resolve(answer));
      response.on('close', () => resolve(answer));
    });
    request.on('error', fail);
    request.end(body);
  });
}

/** Names the failure without the address, which can be secret. */
const reasonOf = (cause: Error): string => {
  if (cause.name === 'AbortError' || cause.name === 'TimeoutError') return 'no response within 10 seconds';
  const code = 'code' in cause ? String(cause.code) : cause.name;
  return `no connection (${code})`;
};
