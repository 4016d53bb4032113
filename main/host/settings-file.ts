import { existsSync } from 'node:fs';
import { holdingBackAtFirst, Settings } from '../../protocol/settings-api.ts';
import { plainIssues } from '../../protocol/plain-issue.ts';
import { readSecret } from './data-folder.ts';
import { type Draft, draftOf } from './whole-file.ts';

/** Settings changed at runtime, persisted across restarts. */
export interface SettingsFile {
  readonly settings: Settings;
  /**
   * Writes the settings to disk; they take effect with `keep`. Throws with a reason when the disk rejects the write.
   */
  draft(settings: Settings): Draft;
}

/** Defaults before the first change. */
const atFirst: Settings = {
  host: '127.0.0.1',
  tls: false,
  public_url: null,
  local_worker: { enabled: false, gpus: null, trainer: null, work_dir: null },
  audit_retention_days: null,
  gpu_troubles: holdingBackAtFirst,
};

/** This process must hold the folder lock. Throws with a reason when the file is damaged. */
export function openSettingsFile(file: string): SettingsFile {
  let settings = existsSync(file) ? read(file) : atFirst;
  return {
    get settings() {
      return settings;
    },
    draft(next) {
      const draft = draftOf(file, `${JSON.stringify(next, null, 2)}\n`);
      return {
        drop: draft.drop,
        keep() {
          draft.keep();
          settings = next;
        },
      };
    },
  };
}

/** The file may contain a command, so nobody but the owner may have write access. */
function read(file: string): Settings {
  const text = readSecret(file);
  const parsed = Settings.safeParse(parseJson(text), plainIssues);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new Error(
    `${file} is not what was written (${where}${issue?.message ?? 'it cannot be read'}): put that right, or delete the ` +
      'file, and what was set in the panel is to be set again',
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
