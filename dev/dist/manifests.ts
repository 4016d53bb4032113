/** Manifests for publishing the packages in winget, Homebrew and Flathub. */
import { stringify } from 'yaml';
import type { Artifact } from './provenance.ts';

export interface Release {
  readonly version: string;
  readonly description: string;
  readonly homepage: string;
  readonly license: string;
  /** URL of the folder with the packages, without a slash at the end. */
  readonly downloads: string;
  /** The date of the release, such as 2026-11-27. */
  readonly date: string;
}

interface Manifest {
  readonly path: string;
  readonly content: string;
}

/** Returns the manifests for the artifacts that exist. A build for one system contains only some of them. */
export function createManifests(artifacts: readonly Artifact[], release: Release): readonly Manifest[] {
  const find = (pattern: RegExp): Artifact | undefined => artifacts.find(({ name }) => pattern.test(name));
  const setup = find(/\.exe$/);
  const images = artifacts.filter(({ name }) => name.endsWith('.dmg'));
  const deb = find(/-amd64\.deb$/);
  return [
    ...(setup === undefined ? [] : wingetManifests(setup, release)),
    ...(images.length === 0 ? [] : [{ path: 'homebrew/trainyard.rb', content: cask(images, release) }]),
    ...(deb === undefined ? [] : flathubManifests(deb, release)),
  ];
}

/** Returns the URL of an artifact. Escapes the name, because `Trainyard Setup 1.0.exe` contains spaces. */
const addressOf = ({ name }: Artifact, { downloads }: Release): string =>
  `${downloads}/${encodeURIComponent(name)}`;

/** Returns the three files that winget 1.10 requires: version, installer and English texts. */
function wingetManifests(setup: Artifact, release: Release): readonly Manifest[] {
  const identity = { PackageIdentifier: 'Trainyard.Trainyard', PackageVersion: release.version };
  const documents = {
    version: { ...identity, DefaultLocale: 'en-US' },
    installer: {
      ...identity,
      InstallerType: 'nullsoft',
      Scope: 'user',
      Protocols: ['trainyard'],
      ReleaseDate: release.date,
      Installers: [
        {
          Architecture: 'x64',
          InstallerUrl: addressOf(setup, release),
          InstallerSha256: setup.sha256.toUpperCase(),
        },
      ],
    },
    defaultLocale: {
      ...identity,
      PackageLocale: 'en-US',
      Publisher: 'Trainyard contributors',
      PackageName: 'Trainyard',
      PackageUrl: release.homepage,
      License: release.license,
      ShortDescription: release.description,
      Moniker: 'trainyard',
    },
  };
  const endings = { version: '', installer: '.installer', defaultLocale: '.locale.en-US' };
  return Object.entries(documents).map(([type, document]) => ({
    path: `winget/Trainyard.Trainyard${endings[type as keyof typeof endings]}.yaml`,
    content: stringify({ ...document, ManifestType: type, ManifestVersion: '1.10.0' }),
  }));
}

/** Returns a Ruby string literal. In single quotes, Ruby does not evaluate `#{...}`. */
const ruby = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

function cask(images: readonly Artifact[], release: Release): string {
  const systems = images.map(image => ({ image, block: /arm64/.test(image.name) ? 'on_arm' : 'on_intel' }));
  return `cask 'trainyard' do
  version ${ruby(release.version)}

${systems
  .map(
    ({ image, block }) => `  ${block} do
    url ${ruby(addressOf(image, release))}
    sha256 ${ruby(image.sha256)}
  end
`,
  )
  .join('')}
  name 'Trainyard'
  desc ${ruby(release.description.replace(/\.$/, ''))}
  homepage ${ruby(release.homepage)}

  app 'Trainyard.app'

  zap trash: ['~/Library/Preferences/net.trainyard.app.plist']
end
`;
}

/** Returns the Flathub files. Their build unpacks the app from the deb, and starts it through Flatpak's sandbox. */
function flathubManifests(deb: Artifact, release: Release): readonly Manifest[] {
  const id = 'net.trainyard.app';
  const moves = [
    'ar x trainyard.deb && tar xf data.tar.* && mv opt/Trainyard /app/trainyard',
    'chmod 0755 /app/trainyard/chrome-sandbox',
    'install -D run.sh /app/bin/trainyard',
    `install -Dm644 usr/share/icons/hicolor/512x512/apps/trainyard.png /app/share/icons/hicolor/512x512/apps/${id}.png`,
    `sed -e 's|^Exec=.*|Exec=trainyard %U|' -e 's|^Icon=.*|Icon=${id}|' usr/share/applications/trainyard.desktop >${id}.desktop`,
    `install -Dm644 -t /app/share/applications ${id}.desktop`,
    `install -Dm644 -t /app/share/metainfo ${id}.metainfo.xml`,
  ];
  const manifest = {
    'app-id': id,
    runtime: 'org.freedesktop.Platform',
    'runtime-version': '24.08',
    sdk: 'org.freedesktop.Sdk',
    base: 'org.electronjs.Electron2.BaseApp',
    'base-version': '24.08',
    command: 'trainyard',
    'separate-locales': false,
    // The app needs the network for the panel, workers and files, and the GPU for the window and a local worker.
    'finish-args': [
      '--share=ipc',
      '--share=network',
      '--socket=wayland',
      '--socket=fallback-x11',
      '--device=dri',
    ].concat(['--talk-name=org.freedesktop.Notifications', '--talk-name=org.freedesktop.secrets']),
    modules: [
      {
        name: 'trainyard',
        buildsystem: 'simple',
        'build-commands': moves,
        sources: [
          {
            type: 'file',
            url: addressOf(deb, release),
            sha256: deb.sha256,
            'dest-filename': 'trainyard.deb',
          },
          {
            type: 'script',
            'dest-filename': 'run.sh',
            commands: ['exec zypak-wrapper.sh /app/trainyard/trainyard "$@"'],
          },
          { type: 'file', path: `${id}.metainfo.xml` },
        ],
      },
    ],
  };
  return [
    { path: `flathub/${id}.yaml`, content: stringify(manifest) },
    { path: `flathub/${id}.metainfo.xml`, content: metainfo(id, release) },
  ];
}

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Returns the AppStream metadata, which software centers show. */
const metainfo = (id: string, release: Release): string => `<?xml version="1.0" encoding="UTF-8"?>
<component type="desktop-application">
  <id>${id}</id>
  <metadata_license>CC0-1.0</metadata_license>
  <project_license>${xml(release.license)}</project_license>
  <name>Trainyard</name>
  <summary>Train image and video models on your own GPU machines</summary>
  <developer id="net.trainyard">
    <name>Trainyard contributors</name>
  </developer>
  <description>
    <p>${xml(release.description)}</p>
  </description>
  <launchable type="desktop-id">${id}.desktop</launchable>
  <url type="homepage">${xml(release.homepage)}</url>
  <content_rating type="oars-1.1"/>
  <releases>
    <release version="${xml(release.version)}" date="${xml(release.date)}"/>
  </releases>
</component>
`;
