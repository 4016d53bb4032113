/** Earlier ones win: Edge and Opera also call themselves Chrome, and Chrome calls itself Safari. */
const browsers = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Electron', /\bElectron\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[.\d]* (?:Mobile\/\w+ )?Safari\//],
] as const;

/** iPhones also name Mac OS X, and Android names Linux. */
const systems = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** Of a header, which may be of any length. */
const maxRead = 400;

/** What people recognise a browser by, such as `Firefox 140 on Linux`; null for a `User-Agent` that names no program. */
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
