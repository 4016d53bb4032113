import { createHash } from 'node:crypto';
import type { Clock } from '../../../agent/clock.ts';
import type { OutstandingReport, Storage } from '../../../agent/artifacts/storage.ts';
import type { Answered } from '../../../agent/artifacts/upload-token.ts';
import { unreachable } from './builders.ts';
import type { CallFailure } from '../../../protocol/client.ts';

/** A failure that the test injects into a call. `cut`: the connection breaks in the middle of the transfer. */
export type InjectedFault = CallFailure | 'cut';

export interface StorageServer {
  readonly storage: Storage;
  /** The stored files by key. */
  readonly files: Map<string, Buffer>;
  /** All calls in order: `GET key OFFSET`, `PUT key OFFSET`, `HEAD key`, `LIST` or `OUTSTANDING FILES`. */
  readonly calls: readonly string[];
  /** Injects these faults in order into the next calls that start with this text, one fault per call. */
  fail(call: string, ...faults: readonly InjectedFault[]): void;
  /** Makes all calls that start with this text fail until the test calls the returned function. */
  failAll(call: string, fault: InjectedFault): () => void;
  /** Like `failAll`, but with precedence over all earlier rules, and until the end of the test. */
  failFirst(call: string, fault: InjectedFault): void;
  /** The last report about outstanding uploads; null before the first report. */
  readonly outstanding: OutstandingReport | null;
  /** Called after each answered call. */
  onCall: (call: string) => void;
}

export const sha256Of = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

const fail = (failure: CallFailure): { readonly ok: false; readonly failure: CallFailure } => ({
  ok: false,
  failure,
});
/** Returns the failure of a call that the server refuses with this status and code. */
export const refusalOf = (status: number, code = 'x'): CallFailure => ({
  kind: 'problem',
  status,
  problem: { type: 'about:blank', title: 'No', status, detail: `refused with ${status}`, code },
});

/** Returns the failure of a call that a proxy answers with this status. */
export const proxyAnswerOf = (status: number): CallFailure => ({
  kind: 'unexpected',
  status,
  detail: `unexpected response ${status}: <html>`,
});

/** Creates an in-memory implementation of agent/artifacts/storage.ts that stores these files. */
export function createStorageServer(files: Readonly<Record<string, string>> = {}): StorageServer {
  const stored = new Map(Object.entries(files).map(([key, text]) => [key, Buffer.from(text)]));
  const partial = new Map<string, { readonly bytes: Buffer; readonly total: number }>();
  const calls: string[] = [];
  const rules: { readonly call: string; readonly faults: InjectedFault[]; readonly isLasting: boolean }[] =
    [];
  const server = {
    onCall: (_call: string): void => {},
    outstanding: null as OutstandingReport | null,
  };

  const nextFault = (call: string): InjectedFault | null => {
    calls.push(call);
    queueMicrotask(() => server.onCall(call));
    const rule = rules.find(each => call.startsWith(each.call) && each.faults.length > 0);
    if (rule === undefined) return null;
    return (rule.isLasting ? rule.faults[0] : rule.faults.shift()) ?? null;
  };
  const answerOrFail = async <T>(call: string, answer: () => T): Promise<Answered<T>> => {
    const fault = nextFault(call);
    return fault === null ? { ok: true, value: answer() } : fail(fault === 'cut' ? unreachable() : fault);
  };

  const storage: Storage = {
    list: () =>
      answerOrFail('LIST', () => new Map([...stored].map(([key, bytes]) => [key, sha256Of(bytes)] as const))),
    progress: key =>
      answerOrFail(`HEAD ${key}`, () => {
        const part = partial.get(key);
        if (part !== undefined) return { offset: part.bytes.length, total: part.total, sha256: null };
        const bytes = stored.get(key);
        return bytes === undefined
          ? null
          : { offset: bytes.length, total: bytes.length, sha256: sha256Of(bytes) };
      }),
    reportOutstanding: report =>
      answerOrFail(`OUTSTANDING ${report.files}`, () => {
        server.outstanding = report;
      }),
    async put(key, { sha256, body, part }) {
      const fault = nextFault(`PUT ${key} ${part?.first ?? 0}`);
      if (fault !== null && fault !== 'cut') return fail(fault);
      const pieces: Uint8Array[] = [];
      try {
        for await (const piece of body.pieces()) pieces.push(piece);
      } catch (cause) {
        return fail({ kind: 'unreachable', cause });
      }
      const received = Buffer.concat(pieces).subarray(0, fault === 'cut' ? body.bytes / 2 : undefined);
      const before = part !== null && part.first > 0 ? partial.get(key)?.bytes : Buffer.alloc(0);
      if (before === undefined || before.length !== (part?.first ?? 0)) return fail(refusalOf(409));
      const bytes = Buffer.concat([before, received]);
      if (part !== null && bytes.length < part.total) partial.set(key, { bytes, total: part.total });
      if (fault === 'cut') return fail(unreachable());
      if (part !== null && bytes.length < part.total) return { ok: true, value: null };
      partial.delete(key);
      if (sha256Of(bytes) !== sha256) return fail(refusalOf(400, 'checksum_mismatch'));
      stored.set(key, bytes);
      return { ok: true, value: null };
    },
    content: (sha256, from, signal) => storage.get(`data/${sha256}`, { from, sha256 }, signal),
    input: (path, rest, signal) => storage.get(path, rest, signal),
    async get(key, rest) {
      const bytes = stored.get(key);
      const isSame = bytes !== undefined && rest?.sha256 === sha256Of(bytes);
      const from = isSame ? rest.from : 0;
      const fault = nextFault(`GET ${key} ${rest?.from ?? 0}`);
      if (fault !== null && fault !== 'cut') return fail(fault);
      if (bytes === undefined) return fail(refusalOf(404, 'artifact_not_found'));
      const sent = bytes.subarray(from, fault === 'cut' ? from + (bytes.length - from) / 2 : undefined);
      return {
        ok: true,
        value: {
          from,
          bytes: bytes.length,
          sha256: sha256Of(bytes),
          async *pieces() {
            yield sent;
            if (fault === 'cut') throw new Error('aborted');
          },
          discard: async () => {},
        },
      };
    },
  };
  return Object.assign(server, {
    storage,
    files: stored,
    calls,
    fail: (call: string, ...faults: readonly InjectedFault[]) =>
      void rules.push({ call, faults: [...faults], isLasting: false }),
    failFirst: (call: string, fault: InjectedFault) =>
      void rules.unshift({ call, faults: [fault], isLasting: true }),
    failAll(call: string, fault: InjectedFault) {
      const rule = { call, faults: [fault], isLasting: true };
      rules.push(rule);
      return () => void rule.faults.shift();
    },
  });
}

/**
 * A clock whose pauses end in the next turn of the event loop and advance its time. Pauses longer than `maxMs` never
 * end.
 */
export function createInstantClock(maxMs = 300_000): Clock {
  let now = 0;
  return {
    mono: () => now,
    after(ms, run) {
      if (ms > maxMs) return () => {};
      const turn = setImmediate(() => {
        now += ms;
        run();
      });
      return () => clearImmediate(turn);
    },
  };
}
