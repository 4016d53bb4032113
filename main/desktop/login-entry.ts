import { join } from 'node:path';

/** Linux uses a file to start programs at login; Electron implements the other platforms. */
export const autostartFile = (configHome: string): string =>
  join(configHome, 'autostart', 'trainyard.desktop');

/** Follows the Desktop Entry Specification: escapes first for `Exec`, then for string values in general. */
export function autostartEntry(program: string): string {
  const inQuotes = program.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%');
  const exec = `"${inQuotes}" --hidden`.replaceAll('\\', '\\\\');
  return `[Desktop Entry]\nType=Application\nName=Trainyard\nExec=${exec}\nTerminal=false\n`;
}
