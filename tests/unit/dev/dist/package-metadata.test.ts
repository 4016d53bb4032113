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

test('debControl writes the summary into the first line of the description, and no empty fields', () => {
  const lines = debControl(metadata, 7).split('\n');
  expect(lines).toContain('Depends: libnss3, libgtk-3-0 | libgtk-3-0t64');
  expect(lines).toContain('Installed-Size: 7');
  expect(lines.slice(-3)).toEqual(['Description: A summary', ' The description.', '']);
  expect(lines.some(line => line.startsWith('Recommends'))).toBe(false);
});

test('debControl throws for a field with a line break, which could add another field', () => {
  const maintainer = 'Contributors\nDepends: other';
  expect(() => debControl({ ...metadata, maintainer }, 7)).toThrow('Maintainer contains a line break');
});

test('rpmSpec declares only existing scripts, and lists folders without a final slash', () => {
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
