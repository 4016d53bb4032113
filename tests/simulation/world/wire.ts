import type { Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { SimProcess } from './process.ts';

/** A call on the network. Workers use HTTP paths and JSON. Users call the orchestrator's methods directly. */
export type WireRequest =
  | {
      readonly kind: 'worker';
      readonly method: 'GET' | 'POST';
      /** Includes the query string. */
      readonly path: string;
      readonly token: string;
      readonly body: unknown;
      /** Address of the client, as the server's socket shows it. */
      readonly address: string;
    }
  | {
      readonly kind: 'person';
      readonly what: string;
      readonly act: (orchestrator: Orchestrator) => Promise<Outcome<unknown>>;
    }
  /** Opens the event stream after this event number. */
  | { readonly kind: 'panel'; readonly after: number };

/** The answer that the caller gets. The codes are error codes of Node's sockets, and the error name of `AbortSignal.timeout`. */
export type WireAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'failed'; readonly code: 'ECONNREFUSED' | 'ECONNRESET' | 'TimeoutError' };

/** The server's end of a stream. */
export interface ServerEnd {
  send(frame: unknown): void;
  end(): void;
  /** Calls `run` when the server learns that the connection is gone, possibly much later. */
  onClose(run: () => void): void;
}

/** The orchestrator's process as the network sees it. */
export interface Server {
  readonly process: SimProcess;
  serve(request: WireRequest, link: string): Promise<WireAnswer>;
  /** Opens a stream. Returns the HTTP status. After 200, the server sends frames through `end`. */
  open(request: WireRequest, end: ServerEnd, link: string): number;
  /** Calls `listener` when the process dies while the connection is open. The returned function removes the listener. */
  onReset(listener: () => void): () => void;
}
