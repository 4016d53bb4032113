import { dialog } from 'electron';
import { isPortTaken, openOwn, type Own, type OwnDeps } from './own.ts';
import type { Words } from './words/index.ts';

/** The user declined. */
export class Declined extends Error {
  override readonly name = 'Declined';
}

export interface OwnHolder {
  /** Null until it has been started. */
  readonly now: () => Own | null;
  /** Starts the orchestrator on the first call. Rejects with a reason. */
  open(): Promise<Own>;
  close(): Promise<void>;
}

/** Owns the orchestrator of this computer; there is at most one. */
export function createOwnHolder(parts: OwnDeps, words: Words): OwnHolder {
  let now: Own | null = null;
  let opening: Promise<Own> | null = null;
  const open = async (): Promise<Own> => {
    try {
      now = await startOwn(parts, words);
      return now;
    } catch (cause) {
      opening = null;
      throw cause;
    }
  };
  return {
    now: () => now,
    open() {
      opening ??= open();
      return opening;
    },
    async close() {
      const closed = now;
      [now, opening] = [null, null];
      await closed?.close();
    },
  };
}

/** Asks the user what to do when another program uses the port. */
async function startOwn(parts: OwnDeps, words: Words): Promise<Own> {
  try {
    return await openOwn(parts);
  } catch (cause) {
    if (!isPortTaken(cause)) throw cause;
    const { response } = await dialog.showMessageBox({
      type: 'warning',
      message: words.portTaken(parts.config.port),
      detail: words.portTakenWhat,
      buttons: [words.otherPort, words.quitShort],
      defaultId: 1,
      cancelId: 1,
    });
    if (response !== 0) throw new Declined(words.portTaken(parts.config.port), { cause });
    return openOwn({ ...parts, config: { ...parts.config, port: 0 } });
  }
}
