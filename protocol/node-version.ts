/**
 * Returns why this version of Node cannot run Trainyard; null when it can. The minimum is the one of `engines` in
 * package.json. The bundled worker contains the source of this function, so the function may use only its arguments. This
 * file is separate, so that the command line can load it before all other modules.
 */
export function oldNodeMessage(nodeVersion: string, program: string): string | null {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return null;
  return `Trainyard needs Node 22.19 or newer, but this is Node ${nodeVersion} (${program}): install a newer one (https://nodejs.org) and start Trainyard with it\n`;
}
