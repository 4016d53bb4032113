#!/usr/bin/env node
/**
 * Writes the deb and rpm packages of `npm run dist`. electron-builder runs this program with fpm's options, instead of
 * downloading fpm with a bundled Ruby. Needs dpkg-deb or rpmbuild. Rejects options that electron-builder does not use.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { debControl, rpmSpec, type SystemPackage } from './package-metadata.ts';

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    s: text,
    t: text,
    force: { type: 'boolean' },
    d: { type: 'string', multiple: true, short: 'd' },
    'deb-recommends': { type: 'string', multiple: true },
    'deb-compression': text,
    'deb-priority': text,
    'rpm-os': text,
    'rpm-compression': text,
    'rpm-summary': text,
    architecture: text,
    'after-install': text,
    'after-remove': text,
    description: text,
    version: text,
    package: text,
    name: text,
    maintainer: text,
    vendor: text,
    url: text,
    category: text,
    license: text,
  },
  args: process.argv.slice(2).map(arg => (/^-[std]$/.test(arg) ? `-${arg}` : arg)),
});

const required = (name: 'architecture' | 'maintainer' | 'name' | 'package' | 'version' | 'url'): string => {
  const value = values[name];
  if (value === undefined) throw new Error(`the option --${name} is missing`);
  return value;
};

/** Maps compressions to rpm's payload settings, which contain the level, and for xz one thread per core. */
const rpmPayloads: Readonly<Record<string, string>> = { xzmt: 'w6T0.xzdio', gzip: 'w1.gzdio' };

/** Maps Debian's names of architectures, which electron-builder passes, to rpm's names. */
const rpmArchitectures: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

const stage = mkdtempSync(join(tmpdir(), 'trainyard-fpm-'));
const root = join(stage, 'root');
try {
  const installed = positionals.map(copyIntoRoot);
  makeReadable(root);
  // For a deb, electron-builder passes the summary as the first line of the description.
  const description = [values['rpm-summary'], values.description].filter(part => part !== undefined);
  const metadata: SystemPackage = {
    name: required('name'),
    version: required('version'),
    architecture: required('architecture'),
    maintainer: required('maintainer'),
    url: required('url'),
    license: values.license ?? '',
    description: description.join('\n'),
    depends: values.d ?? [],
    recommends: values['deb-recommends'] ?? [],
    section: values.category ?? 'misc',
    priority: values['deb-priority'] ?? 'optional',
  };
  const scripts = { afterInstall: values['after-install'], afterRemove: values['after-remove'] };
  if (values.t === 'deb') buildDeb(metadata, scripts);
  else if (values.t === 'rpm') buildRpm(metadata, scripts, installed);
  else throw new Error(`this program makes deb and rpm packages, not ${values.t}`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

interface Scripts {
  readonly afterInstall: string | undefined;
  readonly afterRemove: string | undefined;
}

/** Copies `SOURCE=TARGET` into the package and returns the target. A source that ends in a slash means the folder's content. */
function copyIntoRoot(mapping: string): string {
  const [, source = '', target = ''] = /^(.*)=(\/.*)$/.exec(mapping) ?? [];
  if (source === '') throw new Error(`"${mapping}" is not SOURCE=/TARGET`);
  mkdirSync(dirname(join(root, target)), { recursive: true });
  cpSync(source, join(root, target), { recursive: true, verbatimSymlinks: true });
  return target;
}

/** Gives every user read access, because otherwise the build's umask decides who can start the app. */
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makeReadable(path);
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

function buildDeb(metadata: SystemPackage, { afterInstall, afterRemove }: Scripts): void {
  const size = Number(run('du', ['-sk', '--apparent-size', root]).split('\t')[0]);
  const control = join(root, 'DEBIAN');
  mkdirSync(control);
  writeFileSync(join(control, 'control'), debControl(metadata, size));
  for (const [name, script] of [
    ['postinst', afterInstall],
    ['postrm', afterRemove],
  ] as const) {
    if (script === undefined) continue;
    copyFileSync(script, join(control, name));
    chmodSync(join(control, name), 0o755);
  }
  const compression = values['deb-compression'] === 'gz' ? ['-Zgzip', '-z1'] : ['-Zxz'];
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, required('package')]);
}

function buildRpm(metadata: SystemPackage, scripts: Scripts, installed: readonly string[]): void {
  const spec = join(stage, 'package.spec');
  writeFileSync(spec, rpmSpec(metadata, { ...scripts, root, installed }));
  const top = join(stage, 'rpm');
  const payload = rpmPayloads[values['rpm-compression'] ?? 'xzmt'];
  if (payload === undefined) throw new Error(`rpm has no compression ${values['rpm-compression']}`);
  const defines = { _topdir: top, _rpmdir: join(top, 'out'), _binary_payload: payload };
  run('rpmbuild', [
    '-bb',
    '--target',
    `${rpmArchitectures[metadata.architecture] ?? metadata.architecture}-linux`,
    ...Object.entries(defines).flatMap(([name, value]) => ['--define', `${name} ${value}`]),
    spec,
  ]);
  const built = readdirSync(join(top, 'out'), { recursive: true, encoding: 'utf8' });
  const file = built.find(name => name.endsWith('.rpm'));
  if (file === undefined) throw new Error('rpmbuild has written no package');
  copyFileSync(join(top, 'out', file), required('package'));
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined)
    throw new Error(`${program} is missing (on Debian: apt-get install dpkg rpm)`, { cause: error });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout;
}
