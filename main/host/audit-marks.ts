import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  statSync,
  writeSync,
  readFileSync,
} from 'node:fs';
import { readWitnessMark, type WitnessMark } from '../../protocol/admin-api.ts';
import { writeWhole } from './whole-file.ts';

/** Stores the head of the audit trail in its own file beside the database, readable only by its owner. */
export const openHeadFile = (file: string) => ({
  read(): string | null {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
      throw cause;
    }
  },
  write: (text: string): void => writeWhole(file, text),
});

/** Receives marks of the newest row of the audit trail, outside the data folder. */
interface Witness {
  /** Appears in the log; contains no secrets. */
  readonly name: string;
  /** Sends a mark. Rejects when the witness did not accept it. */
  tell(mark: object, signal: AbortSignal): Promise<void>;
  /** Returns the newest mark in a file; null when there is none. Throws when the file cannot be read. Absent for a URL. */
  readonly newest?: () => WitnessMark | null;
}

/** Creates a witness: a file to which marks are appended, or a URL that gets a POST request for each mark. */
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
    // A named pipe is not opened for reading, because that would block until a writer opens it.
    newest: () => (statSync(file, { throwIfNoEntry: false })?.isFile() ? newestIn(file) : null),
  };
}

/**
 * Number of bytes at the end of the file to search, enough for hundreds of marks. The last lines may be incomplete or belong to
 * another program.
 */
const tailBytes = 65_536;

function newestIn(file: string): WitnessMark | null {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const tail = Buffer.alloc(Math.min(size, tailBytes));
    const read = readSync(handle, tail, 0, tail.length, size - tail.length);
    const lines = tail.toString('utf8', 0, read).split('\n');
    return lines.map(readWitnessMark).findLast(mark => mark !== null) ?? null;
  } finally {
    closeSync(handle);
  }
}

/** Creates a witness for a URL. Logs contain only the origin, because the path may include a secret. */
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
        // Error messages of fetch may contain the whole URL.
        const code =
          cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : 'no answer';
        throw new Error(`The mark could not be sent to ${origin}: ${code.replaceAll(url, origin)}`);
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`${origin} answered with ${answer.status}`);
    },
  };
}
