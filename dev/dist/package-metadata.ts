/** Package metadata in the formats of dpkg and rpm. */

export interface SystemPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly maintainer: string;
  readonly url: string;
  readonly license: string;
  /** One or more lines. dpkg and rpm show the first line in lists. */
  readonly description: string;
  readonly depends: readonly string[];
  readonly recommends: readonly string[];
  readonly section: string;
  readonly priority: string;
}

export interface RpmContent {
  /** Folder that contains the package's files at their installed paths. */
  readonly root: string;
  /** Installed paths of files and folders. A folder includes all files in it. */
  readonly installed: readonly string[];
  readonly afterInstall: string | undefined;
  readonly afterRemove: string | undefined;
}

/** Returns the fields as lines. Throws for a line break in a value, because it could add further fields. */
function toFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => {
      if (/[\r\n]/.test(value)) throw new Error(`${name} contains a line break`);
      return `${name}: ${value}\n`;
    })
    .join('');
}

const toLines = (description: string): readonly string[] =>
  description
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');

/** Returns the file `DEBIAN/control` (Debian policy, chapter 5). `installedKiB` is the size of all files. */
export function debControl(metadata: SystemPackage, installedKiB: number): string {
  const [summary = metadata.name, ...more] = toLines(metadata.description);
  return (
    toFields({
      Package: metadata.name,
      Version: metadata.version,
      Architecture: metadata.architecture,
      Maintainer: metadata.maintainer,
      'Installed-Size': String(installedKiB),
      Depends: metadata.depends.join(', '),
      Recommends: metadata.recommends.join(', '),
      Section: metadata.section,
      Priority: metadata.priority,
      Homepage: metadata.url,
      Description: summary,
    }) + more.map(line => ` ${line}\n`).join('')
  );
}

/** Returns a spec file. rpmbuild must not strip Electron's binaries, or derive dependencies from the bundled libraries. */
export function rpmSpec(metadata: SystemPackage, content: RpmContent): string {
  const [summary = metadata.name] = toLines(metadata.description);
  const header = toFields({
    Name: metadata.name,
    Version: metadata.version,
    Release: '1',
    Summary: summary,
    License: metadata.license || 'unknown',
    URL: metadata.url,
    Packager: metadata.maintainer,
    AutoReqProv: 'no',
    Requires: metadata.depends.join(', '),
  });
  const script = (section: string, file: string | undefined): string =>
    file === undefined ? '' : `%${section} -p /bin/sh -f ${file}\n`;
  return [
    '%global debug_package %{nil}',
    '%global __os_install_post %{nil}',
    '%global _build_id_links none',
    '%global _missing_build_ids_terminate_build 0',
    header,
    `%description\n${toLines(metadata.description).join('\n')}\n`,
    `%install\ncp -a '${content.root}/.' '%{buildroot}'\n`,
    script('post', content.afterInstall),
    script('postun', content.afterRemove),
    `%files\n%defattr(-,root,root,-)\n${content.installed.map(path => `"${path.replace(/\/$/, '')}"\n`).join('')}`,
  ].join('\n');
}
