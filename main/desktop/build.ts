import type { Words } from './words/index.ts';

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;

/** Returns true if the package is signed. The build records that in the app's package.json (dev/dist/signing.ts). */
export function isSignedBuild(packageJson: string): boolean {
  const signed = fieldOf(fieldOf(JSON.parse(packageJson), 'trainyard'), 'signed');
  // electron-builder writes values from its command line as text.
  return signed === true || signed === 'true';
}

/** Returns the version for the "About" dialog. Marks unsigned builds, because their origin cannot be verified. */
export const aboutVersion = (version: string, isSigned: boolean, { unsignedBuild }: Words): string =>
  isSigned ? version : `${version} (${unsignedBuild})`;
