/**
 * Why this Node cannot run Trainyard; null if it can. The bundled worker contains the text of this function, so it uses nothing
 * but its arguments. The minimum is that of `engines` in package.json.
 */
export function oldNodeMessage(version: string, program: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return null;
  return `Trainyard needs Node 22.19 or newer, but this is Node ${version} (${program}): install a newer one (https://nodejs.org) and start Trainyard with it\n`;
}
