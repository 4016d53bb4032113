import { expect, test } from 'vitest';
import { debControl, rpmSpec, type SystemPackage } from '../../../../dev/dist/package-metadata.ts';

const metadata: SystemPackage = {
  name: 'trainyard',
  version: '1.2.3',
  architecture: 'amd64',
  maintainer: 'Contributors',
  url: 'https://example.org',
  license: '',
  description: 'A summary\n\n The description.',
  depends: ['libnss3', 'libgtk-3-0 | libgtk-3-0t64'],
  recommends: [],
  section: 'misc',
  priority: 'optional',
};

test('a deb has the summary on the first line of its description, and no empty fields', () => {
  const lines = debControl(metadata, 7).split('\n');
  expect(lines).toContain('Depends: libnss3, libgtk-3-0 | libgtk-3-0t64');
  expect(lines).toContain('Installed-Size: 7');
  expect(lines.slice(-3)).toEqual(['Description: A summary', ' The description.', '']);
  expect(lines.some(line => line.startsWith('Recommends'))).toBe(false);
});

test('a field cannot contain a line break, which could add a script or a dependency', () => {
  const maintainer = 'Contributors\nDepends: other';
  expect(() => debControl({ ...metadata, maintainer }, 7)).toThrow('Maintainer contains a line break');
});

test('an rpm runs only the scripts that it has, and lists folders without a slash', () => {
  const content = {
    root: '/stage',
    installed: ['/opt/Trainyard/'],
    afterInstall: '/a.sh',
    afterRemove: undefined,
  };
  const spec = rpmSpec(metadata, content);
  expect(spec).toContain('%post -p /bin/sh -f /a.sh');
  expect(spec).not.toContain('%postun');
  expect(spec).toContain('"/opt/Trainyard"\n');
  expect(spec).toContain('License: unknown');
});
