import { join } from 'node:path';

/** On Linux there is a file for what starts with the session; Electron knows the other platforms' ways. */
export const autostartFile = (configHome: string): string =>
  join(configHome, 'autostart', 'trainyard.desktop');

/** After the Desktop Entry Specification: first the rules of `Exec`, then those of any text in such a file. */
export function autostartEntry(program: string): string {
  const inQuotes = program.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%');
  const exec = `"${inQuotes}" --hidden`.replaceAll('\\', '\\\\');
  return `[Desktop Entry]\nType=Application\nName=Trainyard\nExec=${exec}\nTerminal=false\n`;
}
