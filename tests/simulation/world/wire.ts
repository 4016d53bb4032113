import type { Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { SimProcess } from './process.ts';

/** A call on the network. Workers use HTTP; people call the orchestrator's interface directly, without paths and JSON. */
export type WireRequest =
  | {
      readonly kind: 'worker';
      readonly method: 'GET' | 'POST';
      /** Includes the query string. */
      readonly path: string;
      readonly token: string;
      readonly body: unknown;
      /** The client's address, as the server's socket reports it. */
      readonly address: string;
    }
  | {
      readonly kind: 'person';
      readonly what: string;
      readonly act: (orchestrator: Orchestrator) => Promise<Outcome<unknown>>;
    }
  /** The UI stream, starting after this event number. */
  | { readonly kind: 'panel'; readonly after: number };

/** The answer that the caller sees. The codes are those of Node's sockets and of `AbortSignal.timeout`. */
export type WireAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'failed'; readonly code: 'ECONNREFUSED' | 'ECONNRESET' | 'TimeoutError' };

/** The server's end of a stream. */
export interface ServerEnd {
  send(frame: unknown): void;
  end(): void;
  /** Runs when the server learns that the connection is gone, which is often much later. */
  onClose(run: () => void): void;
}

/** The orchestrator's process, as the network sees it. */
export interface Server {
  readonly process: SimProcess;
  serve(request: WireRequest, link: string): Promise<WireAnswer>;
  /** Returns the status. After 200, the stream end belongs to the server. */
  open(request: WireRequest, end: ServerEnd, link: string): number;
  /** Runs `onReset` when the process dies while the connection is open. The returned function removes it. */
  hold(onReset: () => void): () => void;
}
