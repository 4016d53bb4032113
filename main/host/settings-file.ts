import { existsSync } from 'node:fs';
import { holdingBackAtFirst, Settings } from '../../protocol/settings-api.ts';
import { plainIssues } from '../../protocol/plain-issue.ts';
import { readSecret } from './data-folder.ts';
import { type Draft, draftOf } from './whole-file.ts';

/** What was set while the orchestrator ran, kept over its restarts. */
export interface SettingsFile {
  readonly settings: Settings;
  /** On disk, and not in force before it is kept. Throws with a reason when the disk does not take it. */
  draft(settings: Settings): Draft;
}

/** As long as nobody has set anything. */
const atFirst: Settings = {
  host: '127.0.0.1',
  tls: false,
  public_url: null,
  local_worker: { enabled: false, gpus: null, trainer: null, work_dir: null },
  audit_retention_days: null,
  gpu_troubles: holdingBackAtFirst,
};

/** The data folder must be locked for this process. Throws with a reason when the file is not what was written. */
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

/** What it sets may be a command: nobody else may have had a hand in it. */
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
