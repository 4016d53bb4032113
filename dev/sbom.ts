import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

/** `npm run sbom`: writes the product's components from the lockfile in CycloneDX format. Needs no network. */
const root = join(import.meta.dirname, '..');
const file = resolve(process.argv[2] ?? join(root, 'dist/sbom.cdx.json'));

const Lock = z.object({
  name: z.string(),
  packages: z.record(z.string(), z.object({ version: z.string().optional(), dev: z.boolean().optional() })),
});
const Bill = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ name: z.string(), version: z.string(), 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
});

// On Windows npm is a shell script.
const shell = process.platform === 'win32';
// Do not use `--omit dev`: npm 11 would also omit packages that both a dev tool and the product need.
const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const text = execFileSync('npm', args, { cwd: root, shell, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
const bill = Bill.parse(JSON.parse(text));
const lock = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));

/** Electron is part of the packed app, although electron-builder requires it to be a dev dependency. */
const electronPath = 'node_modules/electron';
const productPackages = new Set(
  Object.entries(lock.packages)
    .filter(([path, { dev }]) => dev !== true || path === electronPath)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`),
);
const components = bill.components.filter(({ name, version }) => productPackages.has(`${name}@${version}`));
const product = bill.metadata.component;
// npm names the component after its folder.
product['name'] = lock.name;
const refs = new Set([product['bom-ref'], ...components.map(component => component['bom-ref'])]);
const dependencies = bill.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(dependency => ({
    ...dependency,
    dependsOn: (dependency.dependsOn ?? []).filter(ref => refs.has(ref)),
  }));

mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`);
console.log(`The software bill of materials is in ${file}: ${components.length} packages`);
