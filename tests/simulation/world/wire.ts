import type { Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { SimProcess } from './process.ts';

/** A call as it travels. Workers speak HTTP; people reach the same face without the paths and the JSON. */
export type WireRequest =
  | {
      readonly kind: 'worker';
      readonly method: 'GET' | 'POST';
      /** With its query. */
      readonly path: string;
      readonly token: string;
      readonly body: unknown;
      /** Where it comes from, as the server's socket says. */
      readonly address: string;
    }
  | {
      readonly kind: 'person';
      readonly what: string;
      readonly act: (orchestrator: Orchestrator) => Promise<Outcome<unknown>>;
    }
  /** The UI stream, from the event after this one. */
  | { readonly kind: 'panel'; readonly after: number };

/** As the caller sees it; the codes are those of Node's sockets and of `AbortSignal.timeout`. */
export type WireAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'failed'; readonly code: 'ECONNREFUSED' | 'ECONNRESET' | 'TimeoutError' };

/** The server's end of a stream. */
export interface ServerEnd {
  send(frame: unknown): void;
  end(): void;
  /** The connection is gone, as far as the server can tell: often a good while later. */
  onClose(run: () => void): void;
}

/** The orchestrator's process, as the network sees it. */
export interface Server {
  readonly process: SimProcess;
  serve(request: WireRequest, link: string): Promise<WireAnswer>;
  /** Answers with the status; after 200 the end belongs to the server. */
  open(request: WireRequest, end: ServerEnd, link: string): number;
  /** Called when the process dies with a connection in hand; the answer takes it back. */
  hold(onReset: () => void): () => void;
}
