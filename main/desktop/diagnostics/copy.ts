import { app, clipboard, dialog } from 'electron';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { createReport, sectionOf } from '../../cli/doctor/report.ts';
import type { DesktopSettingsFile } from '../settings.ts';
import { clientFor, type FleetConnection } from '../watch.ts';
import type { Words } from '../words/index.ts';

interface CopyDeps {
  readonly dataDir: string;
  readonly settings: DesktopSettingsFile;
  /** Connection to the fleet in the window; null when there is none. */
  readonly connection: FleetConnection | null;
  readonly words: Pick<Words, 'diagnosticsCopied' | 'diagnosticsCopiedDetail'>;
}

/** Copies a report on the app and the fleet in its window to the clipboard, and tells the user what it contains. */
export async function copyDiagnostics({ dataDir, settings, connection, words }: CopyDeps): Promise<void> {
  const { electron, chrome } = process.versions;
  const { fleets, ...own } = settings.now;
  // Report only the number of fleets: a stored fleet contains a token and an address that may be private.
  const appSettings = { ...own, fleets: fleets.length };
  const report = createReport({
    dataDir,
    versions: { Electron: electron, Chromium: chrome, Packaged: String(app.isPackaged) },
    sections: [
      sectionOf('Settings of the app', appSettings),
      sectionOf('Settings of the orchestrator', await orchestratorSettings(connection)),
    ],
  });
  await clipboard.writeText(report);
  await dialog.showMessageBox({
    type: 'info',
    message: words.diagnosticsCopied,
    detail: words.diagnosticsCopiedDetail,
  });
}

async function orchestratorSettings(connection: FleetConnection | null): Promise<object> {
  if (connection === null) return { unknown: 'the window shows no fleet' };
  const answer = await clientFor(connection).call(settingsApi.get);
  if (answer.ok) return answer.value;
  const { failure } = answer;
  return { unknown: failure.kind === 'problem' ? failure.problem.detail : failure.kind };
}
