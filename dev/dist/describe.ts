/**
 * Hook that electron-builder calls after it has written all packages. Writes the files that recipients need to check the
 * packages: hashes, a list of components, and the provenance. Also writes manifests for package managers.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createManifests } from './manifests.ts';
import { type Artifact, createProvenance, sumsOf } from './provenance.ts';
import { planSigning } from './signing.ts';

interface BuildResult {
  readonly outDir: string;
  readonly artifactPaths: readonly string[];
}

const root = join(import.meta.dirname, '../..');

export default async function describe({ outDir, artifactPaths }: BuildResult): Promise<string[]> {
  const written: string[] = [];
  const write = (path: string, content: string): void => {
    const file = join(outDir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    written.push(file);
  };
  const bill = join(outDir, 'sbom.cdx.json');
  execFileSync(process.execPath, [join(root, 'dev/sbom.ts'), bill], { cwd: root, stdio: 'ignore' });
  written.push(bill);

  const artifacts: Artifact[] = [];
  for (const path of [...artifactPaths.filter(existsSync), bill].toSorted())
    artifacts.push({ name: basename(path), sha256: await sha256Of(path) });
  const provenance = createProvenance(artifacts, await readBuild());
  write('provenance.intoto.json', `${JSON.stringify(provenance, null, 2)}\n`);
  const last = {
    name: 'provenance.intoto.json',
    sha256: await sha256Of(join(outDir, 'provenance.intoto.json')),
  };
  write('SHA256SUMS', sumsOf([...artifacts, last]));
  for (const { path, content } of createManifests(artifacts, readRelease()))
    write(`manifests/${path}`, content);
  return written;
}

async function readBuild(): Promise<Parameters<typeof createProvenance>[1]> {
  const git = (...args: readonly string[]): string => {
    try {
      return execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    } catch {
      // The folder is not a git checkout, for example an unpacked archive.
      return 'unknown';
    }
  };
  return {
    commit: git('rev-parse', 'HEAD'),
    hasChanges: git('status', '--porcelain') !== '',
    homepage: readRelease().homepage,
    lockfileSha256: await sha256Of(join(root, 'package-lock.json')),
    builder: process.env['TRAINYARD_BUILDER'] ?? `${readRelease().homepage}/build/local`,
    platform: `${process.platform}-${process.arch}`,
    versions: { node: process.versions.node },
    isSigned: planSigning(process.platform, process.env).isSigned,
    finishedOn: new Date().toISOString(),
  };
}

function readRelease(): Parameters<typeof createManifests>[1] {
  const { version, description, license, homepage } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Readonly<Record<'version' | 'description' | 'license' | 'homepage', string>>;
  const downloads = process.env['TRAINYARD_DOWNLOADS'] ?? `${homepage}/download/${version}`;
  const date = new Date().toISOString().slice(0, 10);
  return { version, description, license, homepage, downloads: downloads.replace(/\/$/, ''), date };
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
