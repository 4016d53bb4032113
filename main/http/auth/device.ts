/** The first match wins: Edge and Opera also claim to be Chrome, and Chrome claims to be Safari. */
const browsers = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Electron', /\bElectron\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[.\d]* (?:Mobile\/\w+ )?Safari\//],
] as const;

/** The first match wins: iPhones also name Mac OS X, and Android also names Linux. */
const systems = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** In characters. The header may have any length. */
const maxRead = 400;

/** Returns a readable browser name such as `Firefox 140 on Linux`; null when the `User-Agent` names no program. */
export function describeDevice(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').slice(0, maxRead);
  for (const [name, pattern] of browsers) {
    const version = pattern.exec(text)?.[1];
    if (version === undefined) continue;
    const system = systems.find(([, sign]) => sign.test(text))?.[0];
    return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`;
  }
  const [, program, version] = /^([A-Za-z][\w.-]{0,39})\/(\d{1,6})/.exec(text) ?? [];
  return program === undefined || program === 'Mozilla' ? null : `${program} ${version}`;
}
