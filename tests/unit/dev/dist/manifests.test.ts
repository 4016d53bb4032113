import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createManifests, type Release } from '../../../../dev/dist/manifests.ts';
import { createProvenance, sumsOf } from '../../../../dev/dist/provenance.ts';

const artifact = (name: string, digit: string) => ({ name, sha256: digit.repeat(64) });
const setup = artifact('Trainyard Setup 1.2.3.exe', 'a');
const image = artifact('Trainyard-1.2.3-arm64.dmg', 'b');
const intelImage = artifact('Trainyard-1.2.3.dmg', 'c');
const deb = artifact('trainyard-1.2.3-amd64.deb', 'd');
const release: Release = {
  version: '1.2.3',
  description: `Trains #{models} on people's "own" <machines> & more.`,
  homepage: 'https://example.org',
  license: 'MIT',
  downloads: 'https://example.org/download/1.2.3',
  date: '2026-11-27',
};
const filesOf = (...artifacts: readonly (typeof deb)[]): Readonly<Record<string, string>> =>
  Object.fromEntries(createManifests(artifacts, release).map(({ path, content }) => [path, content]));

describe('createManifests', () => {
  test('writes only the manifests of artifacts that exist', () => {
    expect(filesOf(artifact('trainyard-1.2.3-x86_64.AppImage', 'e'))).toEqual({});
    expect(Object.keys(filesOf(setup))).toEqual(expect.arrayContaining([expect.stringMatching(/^winget\//)]));
    expect(Object.keys(filesOf(image))).toEqual(['homebrew/trainyard.rb']);
  });

  test('writes three winget files for one version, with an encoded download URL', () => {
    const files = Object.values(filesOf(setup)).map(content => parse(content) as Record<string, unknown>);
    expect(files.map(({ ManifestType }) => ManifestType)).toEqual(['version', 'installer', 'defaultLocale']);
    for (const file of files)
      expect(file).toMatchObject({ PackageIdentifier: 'Trainyard.Trainyard', PackageVersion: '1.2.3' });
    expect(files[1]).toMatchObject({
      Installers: [
        {
          InstallerUrl: 'https://example.org/download/1.2.3/Trainyard%20Setup%201.2.3.exe',
          InstallerSha256: 'A'.repeat(64),
        },
      ],
    });
  });

  test('writes a Homebrew cask with a URL and hash per processor, and escapes text in Ruby', () => {
    const cask = filesOf(image, intelImage)['homebrew/trainyard.rb'] ?? '';
    expect(cask).toMatch(new RegExp(`on_arm do\\n.*arm64\\.dmg'\\n    sha256 '${image.sha256}'`));
    expect(cask).toMatch(new RegExp(`on_intel do\\n.*1\\.2\\.3\\.dmg'\\n    sha256 '${intelImage.sha256}'`));
    expect(cask).toContain(String.raw`desc 'Trains #{models} on people\'s "own" <machines> & more'`);
  });

  test('writes the hash of the deb for Flathub, and escapes text in XML', () => {
    const files = filesOf(deb);
    expect(parse(files['flathub/net.trainyard.app.yaml'] ?? '')).toMatchObject({
      modules: [{ sources: [{ url: `${release.downloads}/${deb.name}`, sha256: deb.sha256 }, {}, {}] }],
    });
    expect(files['flathub/net.trainyard.app.metainfo.xml']).toContain('&lt;machines&gt; &amp; more');
  });
});

test('lists every artifact with its hash in the provenance, and marks the provenance as unsigned', () => {
  const provenance = createProvenance([deb, image], {
    commit: 'f'.repeat(40),
    hasChanges: true,
    homepage: 'https://example.org',
    lockfileSha256: 'e'.repeat(64),
    builder: 'https://example.org/builder',
    platform: 'linux-x64',
    versions: {},
    isSigned: false,
    finishedOn: '2026-11-27T00:00:00.000Z',
  });
  expect(provenance).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: deb.name, digest: { sha256: deb.sha256 } },
      { name: image.name, digest: { sha256: image.sha256 } },
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        internalParameters: { statementIsSigned: false },
        resolvedDependencies: [
          {
            name: 'source',
            digest: { gitCommit: 'f'.repeat(40) },
            annotations: { hasUncommittedChanges: true },
          },
          {},
        ],
      },
    },
  });
  expect(sumsOf([deb])).toBe(`${deb.sha256}  ${deb.name}\n`);
});
