import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** Receives the newest row of the audit trail, outside of the data folder. */
interface Witness {
  /** For the log; holds nothing secret. */
  readonly name: string;
  /** Rejects when the witness did not take the mark. */
  tell(mark: object, signal: AbortSignal): Promise<void>;
}

/** A file that is only ever appended to, or a URL that takes a POST for each mark. */
export const createWitness = (target: string): Witness =>
  /^https?:/.test(target) ? webhook(target) : appendedFile(target);

function appendedFile(file: string): Witness {
  return {
    name: file,
    tell: async mark => {
      const handle = openSync(file, 'a', 0o600);
      try {
        writeSync(handle, `${JSON.stringify(mark)}\n`);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
    },
  };
}

/** The path may hold a secret, and is in no log. */
function webhook(url: string): Witness {
  const { origin } = new URL(url);
  return {
    name: origin,
    async tell(mark, signal) {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ product: 'trainyard', ...mark }),
        redirect: 'error',
        signal,
      }).catch((cause: unknown) => {
        // What fetch says may name the whole address.
        const code =
          cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : 'no answer';
        throw new Error(`${origin} could not be told: ${code.replaceAll(url, origin)}`);
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`${origin} answered with ${answer.status}`);
    },
  };
}
