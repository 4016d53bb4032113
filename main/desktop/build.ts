import type { Words } from './words/index.ts';

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;

/** Returns whether the package is signed. Its build records that in the package.json of the app (dev/dist/signing.ts). */
export function isSignedBuild(packageJson: string): boolean {
  const signed = fieldOf(fieldOf(JSON.parse(packageJson), 'trainyard'), 'signed');
  // electron-builder passes values of its command line on as text.
  return signed === true || signed === 'true';
}

/** Returns the version that "About" shows. Users of an unsigned build must know that nobody vouches for it. */
export const aboutVersion = (version: string, isSigned: boolean, { unsignedBuild }: Words): string =>
  isSigned ? version : `${version} (${unsignedBuild})`;
